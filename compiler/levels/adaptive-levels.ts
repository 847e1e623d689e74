/**
 * Places load levels by themselves: as few as keep the expected accuracy of neighbours less than a
 * step apart.
 *
 * The range is solved at its ends; then, round by round, every interval whose ends differ by the
 * step or more is cut into as many parts as its difference has steps, and the cuts are solved. A
 * round depends on the levels of the rounds before it only, so the result does not depend on how
 * many threads solve it. Levels that are not needed in the end are left out.
 *
 * Expected accuracy is meant as in RAMSIS §5.1, which gives a query that is late none:
 * `accuracyPerQuery`. The paper's evaluation (§7) reports accuracy per satisfied query instead;
 * both have to keep the step. Two limits are ours:
 * - accuracy can jump, for instance where a variant stops being fast enough, so an interval of
 *   `MIN_GAP` is not cut any more but reported;
 * - an interval whose ends agree is not searched: accuracy is taken to fall with the load, as it
 *   does up to how levels are solved.
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

/** Neighbours that are as close as levels get and still differ by the step or more. */
interface AccuracyJump {
  readonly fromQps: number;
  readonly toQps: number;
  readonly accuracyStep: number;
}

export interface Placement {
  readonly maxAccuracyStep: number;
  readonly rounds: number;
  /** Levels that were solved; the bundle holds those that are needed. */
  readonly solved: number;
  readonly jumps: readonly AccuracyJump[];
}

export interface ChosenLevels {
  /** Ascending in load; the first and the last are the ends of the range. */
  readonly levels: readonly SolvedLevel[];
  readonly placement: Placement;
}

/** Solves the loads of a round, counted from 1; the result is in their order. */
export type SolveRound = (
  loadsQps: readonly number[],
  round: number,
) => Promise<readonly SolvedLevel[]>;

/** Says how far two levels are apart, which the method knows. */
export type GapOf = (a: SolvedLevel["level"], b: SolvedLevel["level"]) => LevelGap;

/** What neighbours are held to. */
export interface Step {
  readonly maxAccuracyStep: number;
  readonly gapOf: GapOf;
}

/**
 * Parts that one round cuts an interval into at most: later cuts profit from what the first ones
 * found.
 */
const MAX_PARTS = 8;
/**
 * Smallest part, relative to the load. An interval of less than two is not cut, which is a
 * thirtieth of what a load monitor's window can tell.
 */
const MIN_PART = 0.0005;
/** Levels solved at most: a bundle of as many is about 7 MiB. */
const MAX_SOLVED = 1000;

/** @returns the levels, or what is wrong with a step that takes too many. */
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

/** Steps between two levels: less than 1 for neighbours. */
export function stepsBetween(
  { level: a }: SolvedLevel,
  { level: b }: SolvedLevel,
  by: Step,
): number {
  const { accuracy, otherSteps } = by.gapOf(a, b);
  return Math.max(accuracy / by.maxAccuracyStep, otherSteps);
}

/** Loads of the next round, ascending; between two neighbours they depend on these alone. */
export function cutsOf(solved: readonly SolvedLevel[], step: Step): number[] {
  return pairsOf(solved).flatMap(([a, b]) => {
    const steps = stepsBetween(a, b, step);
    if (steps < 1) return [];
    const wanted = Math.min(MAX_PARTS, Math.floor(steps) + 1);
    return cutsBetween(a.level.loadQps, b.level.loadQps, wanted);
  });
}

/**
 * Cuts an interval into nearly equal parts, fewer than wanted if they would be too small, at round
 * numbers.
 */
function cutsBetween(fromQps: number, toQps: number, wantedParts: number): number[] {
  const widthQps = toQps - fromQps;
  const parts = Math.min(wantedParts, Math.floor(widthQps / (MIN_PART * toQps)));
  return Array.from({ length: Math.max(0, parts - 1) }, (_, index) =>
    roundNumberNear(fromQps + (widthQps * (index + 1)) / parts, widthQps / (4 * parts)),
  );
}

/**
 * The roundest number within a distance of a load: a multiple of the largest of … 100, 50, 20, 10,
 * 5, 2, 1, 0.5 … that has one there.
 */
function roundNumberNear(loadQps: number, distanceQps: number): number {
  for (let exponent = Number(loadQps.toExponential().split("e")[1]); ; exponent--) {
    for (const digit of [5, 2, 1]) {
      // Read from its decimal digits, so that it is 0.3 and not 3 · 0.1.
      const rounded = Number(
        `${Math.round(loadQps / Number(`${digit}e${exponent}`)) * digit}e${exponent}`,
      );
      if (Math.abs(rounded - loadQps) <= distanceQps) return rounded;
    }
  }
}

/**
 * Leaves levels out, from the lowest up, as long as the next one kept can stand in for them: it is
 * less than the step from each and from the level kept before, and no less feasible, nor more. So
 * the load up to which the cluster meets its SLO stays a level.
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

/** Whether the level at `candidate` may follow the one at `before`, with those between left out. */
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
 * What is wrong with a step that takes too many levels; null where it does not, as far as that is
 * known.
 * @param solved ascending. @param next levels of the next round.
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
