/**
 * A level of a bundle with buckets: a table for the queue of each. Every table is solved for its
 * bucket alone, on workers slowed down by what the others take of them; how much, is tried. What a
 * level promises is what a simulation by the code that serves gives.
 */
import {
  type Expected,
  type RamsisLevel,
  type Table,
  violationCeiling,
} from "stratagem-runtime/internal/bundle/schema";
import { bucketFrame } from "stratagem-runtime/internal/methods/ramsis/bundle/bucket-views";
import type { RamsisFrame } from "../../model/frames.ts";
import { classedExpectation } from "./classed-level.ts";
import { classCapacityQps, fluidUse, workersOf } from "./solve/class-fluid.ts";
import { ramsis } from "./solve/ramsis.ts";

/**
 * How much more the others are taken to use than in the fluid limit: their batches come in clusters,
 * and a queue does not find a worker free when it would like to.
 */
const CAUTIONS = [1, 1.2, 1.5];
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
  const use = fluidUse(frame, loadQps);
  let best: Judged | null = null;
  let iterations = 0;
  for (const caution of CAUTIONS) {
    const solved = tablesOf(frame, loadQps, slowdowns(frame, use, caution));
    iterations += solved.reduce((sum, { tries }) => sum + tries, 0);
    const names = [...new Set(solved.map(({ method }) => method))];
    const level = levelOf(frame, loadQps, solved.map(({ actionByState }) => actionByState), {
      method: names.join(", "),
      iterations: 0,
      residual: 0,
      states: solved.reduce((sum, { actionByState }) => sum + actionByState.data.length, 0),
    });
    const own = judged(frame, level);
    if (best === null || own.score > best.score) best = own;
  }
  if (best === null) throw new RangeError("some caution is tried");
  const { level } = best;
  return { ...level, solve: { ...level.solve, iterations } };
}

/** What a level promises, from its tables alone: the same numbers for the same tables. */
export function bucketedExpectation(frame: RamsisFrame, level: RamsisLevel): Expected {
  return classedExpectation(frame, level);
}

/** The level of a load with the tables of another level, and what they promise there. */
export function bucketedTableAt(
  frame: RamsisFrame,
  loadQps: number,
  level: RamsisLevel,
): RamsisLevel {
  return judged(frame, { ...level, loadQps }).level;
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

function tablesOf(frame: RamsisFrame, loadQps: number, slowed: readonly number[]) {
  return (frame.buckets ?? []).map(({ share }, index) =>
    ramsis.slowedTable(bucketFrame(frame, index), share * loadQps, slowed[index] ?? 1),
  );
}

function levelOf(
  frame: RamsisFrame,
  loadQps: number,
  bucketTables: readonly Table[],
  solve: RamsisLevel["solve"],
): RamsisLevel {
  const actionByState = bucketTables.at(-1);
  if (actionByState === undefined) throw new RangeError("there are buckets");
  const capacityQps = classCapacityQps(frame);
  const unknown = { accuracyPerSatisfied: 0, accuracyPerQuery: 0, violationRate: 1 };
  const expected: Expected = {
    ...unknown,
    upperBoundAccuracy: 1,
    byBatch: { accuracy: { median: 0, p99: 0 }, violationRate: { median: 1, p99: 1 } },
    byBucket: bucketTables.map(() => unknown),
  };
  return {
    loadQps,
    feasible: false,
    capacityQps,
    expected,
    solve,
    actionByState,
    bucketTables,
    mixture: null,
  };
}

interface Judged {
  readonly level: RamsisLevel;
  /** Accuracy per query, less what buckets violate too much. */
  readonly score: number;
}

function judged(frame: RamsisFrame, level: RamsisLevel): Judged {
  const expected = bucketedExpectation(frame, level);
  const ceiling = violationCeiling(frame.slo);
  const buckets = frame.buckets ?? [];
  let score = expected.accuracyPerQuery;
  for (const [index, { share }] of buckets.entries()) {
    const rate = expected.byBucket?.[index]?.violationRate ?? 1;
    score -= VIOLATION_PENALTY * share * Math.max(0, rate - ceiling);
  }
  const feasible = level.loadQps <= level.capacityQps && expected.violationRate <= ceiling;
  return { level: { ...level, feasible, expected }, score };
}
