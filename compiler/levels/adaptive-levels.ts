/**
 * Places load levels automatically: as few as keep the expected accuracy of neighbours less than a
 * step apart.
 *
 * The range is solved at its ends; then, round by round, every interval whose ends differ by the
 * step or more is cut into as many parts as its difference has steps, and the cuts are solved. A
 * round depends only on the levels of earlier rounds, so the result does not depend on the number
 * of threads. Levels that turn out to be unnecessary are left out.
 *
 * Expected accuracy counts a late query as 0, as in RAMSIS §5.1: `accuracyPerQuery`. The paper's
 * evaluation (§7) reports accuracy per satisfied query instead; both must keep the step. Two limits
 * are ours:
 * - accuracy can jump, for instance where a variant stops being fast enough, so an interval of
 * `MIN_GAP` is not cut any further but reported;
 * - an interval whose ends agree is not searched: accuracy is assumed to fall with the load, as it
 * does within the accuracy of the solver.
 * Source: RAMSIS §6, query load adaptation.
 */
import type { LevelGap, SolvedLevel } from "../methods/method.ts";
import { invalid, type Mistake } from "../spec/document/mistakes.ts";

export interface AdaptiveLoads {
  readonly fromQps: number;
  readonly toQps: number;
  /** In (0, 1]. */
  readonly maxAccuracyStep: number;
}

/** Neighbours that are as close as levels can be and still differ by the step or more. */
interface AccuracyJump {
  readonly fromQps: number;
  readonly toQps: number;
  readonly accuracyStep: number;
}

export interface Placement {
  readonly maxAccuracyStep: number;
  readonly rounds: number;
  /** Number of solved levels; the bundle holds only those that are needed. */
  readonly solved: number;
  readonly jumps: readonly AccuracyJump[];
}

export interface ChosenLevels {
  /** Ascending in load; the first and the last are the ends of the range. */
  readonly levels: readonly SolvedLevel[];
  readonly placement: Placement;
}

/**
 * Solves the loads of a round, counted from 1.
 * @returns levels in the order of the loads.
 */
export type SolveRound = (
  loadsQps: readonly number[],
  round: number,
) => Promise<readonly SolvedLevel[]>;

/** Returns how far two levels are apart, as the method defines it. */
export type GapOf = (a: SolvedLevel["level"], b: SolvedLevel["level"]) => LevelGap;

/** Largest difference between neighbours. */
export interface Step {
  readonly maxAccuracyStep: number;
  readonly gapOf: GapOf;
}

/** Maximum parts per interval and round: later cuts profit from the first results. */
const MAX_PARTS = 8;
/**
 * Smallest part, relative to the load. An interval of less than two parts is not cut; that is a
 * thirtieth of the resolution of a load monitor's window.
 */
const MIN_PART = 0.0005;
/** Maximum number of solved levels: a bundle of as many is about 7 MiB. */
const MAX_SOLVED = 1000;

/** @returns the levels, or the mistake of a step that takes too many. */
export async function chooseLevels(
  { fromQps, toQps, maxAccuracyStep }: AdaptiveLoads,
  gapOf: GapOf,
  solve: SolveRound,
): Promise<ChosenLevels | Mistake> {
  const step: Step = { maxAccuracyStep, gapOf };
  let solved: SolvedLevel[] = [];
  let loadsQps = fromQps === toQps ? [fromQps] : [fromQps, toQps];
  let rounds = 0;
  while (loadsQps.length > 0) {
    rounds++;
    solved = [...solved, ...(await solve(loadsQps, rounds))].sort(byLoad);
    loadsQps = cutsOf(solved, step);
    const mistake = tooManyLevels(solved, loadsQps.length, step);
    if (mistake !== null) return mistake;
  }
  const levels = needed(solved, step);
  const jumps = pairsOf(levels)
    .map(([a, b]) => ({
      fromQps: a.level.loadQps,
      toQps: b.level.loadQps,
      accuracyStep: gapOf(a.level, b.level).accuracy,
    }))
    .filter((pair) => pair.accuracyStep >= maxAccuracyStep);
  return { levels, placement: { maxAccuracyStep, rounds, solved: solved.length, jumps } };
}

function byLoad(a: SolvedLevel, b: SolvedLevel): number {
  return a.level.loadQps - b.level.loadQps;
}

/** Steps between two levels; less than 1 for neighbours. */
export function stepsBetween(
  { level: a }: SolvedLevel,
  { level: b }: SolvedLevel,
  by: Step,
): number {
  const { accuracy, otherSteps } = by.gapOf(a, b);
  return Math.max(accuracy / by.maxAccuracyStep, otherSteps);
}

/**
 * Returns the loads of the next round, ascending; those between two neighbours depend only on these
 * two.
 */
export function cutsOf(solved: readonly SolvedLevel[], step: Step): number[] {
  return pairsOf(solved).flatMap(([a, b]) => {
    const steps = stepsBetween(a, b, step);
    if (steps < 1) return [];
    const wanted = Math.min(MAX_PARTS, Math.floor(steps) + 1);
    return cutsBetween(a.level.loadQps, b.level.loadQps, wanted);
  });
}

/**
 * Cuts an interval at round numbers into nearly equal parts, fewer than wanted if they would be too
 * small.
 */
function cutsBetween(fromQps: number, toQps: number, wantedParts: number): number[] {
  const widthQps = toQps - fromQps;
  const parts = Math.min(wantedParts, Math.floor(widthQps / (MIN_PART * toQps)));
  return Array.from({ length: Math.max(0, parts - 1) }, (_, index) =>
    roundNumberNear(fromQps + (widthQps * (index + 1)) / parts, widthQps / (4 * parts)),
  );
}

/**
 * Returns the roundest number within a distance of a load: a multiple of the largest of … 100, 50,
 * 20, 10, 5, 2, 1, 0.5 … that has one in range.
 */
function roundNumberNear(loadQps: number, distanceQps: number): number {
  for (let exponent = Number(loadQps.toExponential().split("e")[1]); ; exponent--) {
    for (const digit of [5, 2, 1]) {
      // Parsing decimal digits gives 0.3, and not 3 · 0.1.
      const rounded = Number(
        `${Math.round(loadQps / Number(`${digit}e${exponent}`)) * digit}e${exponent}`,
      );
      if (Math.abs(rounded - loadQps) <= distanceQps) return rounded;
    }
  }
}

/**
 * Leaves out levels, from the lowest up, as long as the next kept level can replace them: it
 * differs by less than the step from each and from the kept level before, and has the same
 * feasibility. So the highest load at which the cluster meets its SLO stays a level.
 */
function needed(solved: readonly SolvedLevel[], step: Step): SolvedLevel[] {
  const kept: SolvedLevel[] = [];
  for (let index = 0; index < solved.length; ) {
    const level = solved[index];
    if (level === undefined) break;
    kept.push(level);
    let next = index + 1;
    while (standsInFor(solved, index, next + 1, step)) next++;
    index = next;
  }
  return kept;
}

/** Returns whether `candidate` may follow `before`, leaving out the levels between. */
function standsInFor(
  solved: readonly SolvedLevel[],
  before: number,
  candidate: number,
  step: Step,
): boolean {
  const [first, last] = [solved[before], solved[candidate]];
  if (first === undefined || last === undefined) return false;
  return (
    stepsBetween(first, last, step) < 1 &&
    solved
      .slice(before + 1, candidate)
      .every(
        (between) =>
          stepsBetween(between, last, step) < 1 && between.level.feasible === last.level.feasible,
      )
  );
}

function spread(solved: readonly SolvedLevel[], { gapOf }: Step): number {
  const [first, last] = [solved[0], solved[solved.length - 1]];
  return first === undefined || last === undefined ? 0 : gapOf(first.level, last.level).accuracy;
}

function pairsOf(solved: readonly SolvedLevel[]): (readonly [SolvedLevel, SolvedLevel])[] {
  return solved.slice(1).flatMap((b, index) => {
    const a = solved[index];
    return a === undefined ? [] : [[a, b] as const];
  });
}

/**
 * Returns the mistake of a step that takes too many levels; null if none is known.
 * @param solved ascending.
 * @param next levels of the next round.
 */
export function tooManyLevels(
  solved: readonly SolvedLevel[],
  next: number,
  step: Step,
): Mistake | null {
  const apart = spread(solved, step);
  const isMore = solved.length + next > MAX_SOLVED || apart / step.maxAccuracyStep > MAX_SOLVED;
  if (!isMore) return null;
  const expected =
    `a step that takes at most ${MAX_SOLVED} levels to solve; choose a larger one, ` +
    "or from and to closer together";
  return invalid(
    ["workload", "loads", "maxAccuracyStep"],
    expected,
    `${step.maxAccuracyStep} for accuracies that are ${apart.toPrecision(3)} apart`,
  );
}
