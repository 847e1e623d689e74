/**
 * A level of a bundle with buckets: a table for the queue of each. Every table is solved for its
 * bucket alone, on workers slowed down by what the others take of them; how much, is tried. What a
 * level promises is what a simulation by the code that serves gives.
 */
import {
  type Expected,
  type RamsisLevel,
  violationCeiling,
} from "stratagem-runtime/internal/bundle/schema";
import { bucketFrame } from "stratagem-runtime/internal/methods/ramsis/bundle/bucket-views";
import type { RamsisFrame } from "../../model/frames.ts";
import { classedExpectation, latencyCost, PROMISE } from "./classed-level.ts";
import { classCapacityQps, fluidUse, workersOf } from "./solve/class-fluid.ts";
import { keptAt, type LevelTables, ramsis } from "./solve/ramsis.ts";

/**
 * How much more, or less, the others are taken to use than in the fluid limit: their batches come
 * in clusters, and a queue does not find a worker free when it would like to.
 */
const CAUTIONS = [0.9, 1, 1.1, 1.2];
/** Where there are so many buckets that all of them would take long. */
const FEW_CAUTIONS = [0.95, 1.1];
const FEW_BUCKETS = 4;
/** What tables are chosen by: other arrivals than those of the promise. */
const LOOK = { queries: 80_000, seed: 2 };
/** Of the workers, what is left to one bucket at least: less is no use to plan with. */
const LEAST_PART = 0.02;
/** Accuracy that a violation per query too many costs a level, as of classes. */
const VIOLATION_PENALTY = 20;

/** Whether requests are padded to buckets. */
export function hasBuckets({ buckets }: Pick<RamsisFrame, "buckets">): boolean {
  return buckets !== undefined;
}

/** The same frame and load give the same level, bit for bit. @param frame one with buckets. */
export function bucketedLevel(frame: RamsisFrame, loadQps: number): RamsisLevel {
  const buckets = frame.buckets ?? [];
  const use = fluidUse(frame, loadQps);
  const cautions = buckets.length > FEW_BUCKETS ? FEW_CAUTIONS : CAUTIONS;
  const solved = cautions.map((caution) =>
    tablesOf(frame, loadQps, slowdowns(frame, use, caution)),
  );
  const found = bestChoice(
    buckets.length,
    cautions.length,
    (choice) => judged(frame, levelOf(frame, loadQps, chosenOf(solved, choice)), LOOK).score,
  );
  const level = levelOf(frame, loadQps, chosenOf(solved, found.choice));
  const tries = solved.flat().reduce((sum, one) => sum + one.tries, found.tries);
  return judged(frame, { ...level, solve: { ...level.solve, iterations: tries } }, PROMISE).level;
}

/** Of each bucket the table of the caution chosen for it. */
function chosenOf(
  solved: readonly (readonly SlowedTable[])[],
  choice: readonly number[],
): SlowedTable[] {
  return choice.map((caution, bucket) => {
    const table = solved[caution]?.[bucket];
    if (table === undefined) throw new RangeError("each bucket has a table for each caution");
    return table;
  });
}

/**
 * The caution of each bucket that scores best: first the same for all, then for one bucket after
 * another, as long as that is better.
 */
function bestChoice(
  bucketCount: number,
  cautionCount: number,
  scoreOf: (choice: readonly number[]) => number,
): { readonly choice: readonly number[]; readonly tries: number } {
  const scores = new Map<string, number>();
  const judge = (choice: readonly number[]): number => {
    const known = scores.get(choice.join());
    const score = known ?? scoreOf(choice);
    scores.set(choice.join(), score);
    return score;
  };
  const uniform = Array.from({ length: cautionCount }, (_, caution) =>
    Array.from({ length: bucketCount }, () => caution),
  );
  let best = uniform.reduce((one, other) => (judge(other) > judge(one) ? other : one));
  for (let bucket = 0; bucket < bucketCount; bucket++) {
    for (let caution = 0; caution < cautionCount; caution++) {
      const other = best.with(bucket, caution);
      if (judge(other) > judge(best)) best = other;
    }
  }
  return { choice: best, tries: scores.size };
}

/** What a level promises, from its tables alone: the same numbers for the same tables. */
export function bucketedExpectation(frame: RamsisFrame, level: LevelTables): Expected {
  return classedExpectation(frame, level);
}

/** The level of a load with the tables of another level, and what they promise there. */
export function bucketedTableAt(
  frame: RamsisFrame,
  loadQps: number,
  level: LevelTables,
): RamsisLevel {
  return judged(frame, { ...level, loadQps }, PROMISE).level;
}

/**
 * How many times as long a batch of each bucket keeps a worker, which serves the others in between.
 * @param use workers that each bucket keeps busy.
 */
function slowdowns(frame: RamsisFrame, use: readonly number[], caution: number): number[] {
  const workers = workersOf(frame);
  const total = use.reduce((sum, busy) => sum + busy, 0);
  return use.map((own) => {
    const left = workers - caution * (total - own);
    return workers / Math.max(left, LEAST_PART * workers);
  });
}

type SlowedTable = ReturnType<typeof ramsis.slowedTable>;

function tablesOf(frame: RamsisFrame, loadQps: number, slowed: readonly number[]): SlowedTable[] {
  return (frame.buckets ?? []).map(({ share }, index) =>
    ramsis.slowedTable(bucketFrame(frame, index), share * loadQps, slowed[index] ?? 1),
  );
}

function levelOf(frame: RamsisFrame, loadQps: number, solved: readonly SlowedTable[]): LevelTables {
  const bucketTables = solved.map((one) => one.actionByState);
  const actionByState = bucketTables.at(-1);
  if (actionByState === undefined) throw new RangeError("there are buckets");
  const capacityQps = classCapacityQps(frame);
  return {
    loadQps,
    capacityQps,
    solve: {
      method: [...new Set(solved.map(({ method }) => method))].join(", "),
      iterations: solved.reduce((sum, { tries }) => sum + tries, 0),
      residual: 0,
      states: bucketTables.reduce((sum, { data }) => sum + data.length, 0),
    },
    actionByState,
    bucketTables,
    mixture: null,
  };
}

interface Judged {
  readonly level: RamsisLevel;
  /** Accuracy per query, less what buckets violate too much and the price of latency. */
  readonly score: number;
}

function judged(frame: RamsisFrame, level: LevelTables, sample: typeof PROMISE): Judged {
  const expected = classedExpectation(frame, level, sample);
  const ceiling = violationCeiling(frame.slo);
  const buckets = frame.buckets ?? [];
  let score = expected.accuracyPerQuery - latencyCost(frame, expected);
  for (const [index, { share }] of buckets.entries()) {
    const rate = expected.byBucket?.[index]?.violationRate ?? 1;
    score -= VIOLATION_PENALTY * share * Math.max(0, rate - ceiling);
  }
  const kept = keptAt(frame, level.loadQps, level.capacityQps, expected);
  return { level: { ...level, ...kept, expected }, score };
}
