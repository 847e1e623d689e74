/**
 * Promises of a level, from its tables alone: the same numbers for the same tables, bit for bit.
 *
 * The solver computes them if queries are of one kind and only models take time; otherwise a
 * simulation with the production code gives the promise for each kind.
 */
import type {
  ClassExpected,
  Expected,
  ExpectedTimes,
  RamsisBundle,
  RamsisLevel,
} from "stratagem-runtime/internal/bundle/schema";
import { ramsisMissed } from "stratagem-runtime/internal/methods/ramsis/describe/missed";
import type { RamsisFrame } from "../../model/frames.ts";
import { steadyArrivals } from "../../simulate/arrivals.ts";
import { latencyPromise, withEnoughBatches } from "../../simulate/latency-sample.ts";
import { boundingFrame } from "./planning-frame.ts";
import { isSampled } from "./simulate/promised-times.ts";
import { type SimulationOptions, type SimulationResult, simulate } from "./simulate/simulate.ts";
import { distributionOf } from "./solve/batch-distribution.ts";
import { classBound, classCapacityQps } from "./solve/class-fluid.ts";
import { latencyObjective, TARGET_PENALTY, targetExcess } from "./solve/latency-objective.ts";
import { type LevelProblem, levelProblem } from "./solve/level-problem.ts";
import { accuracyBound, keptAt, type LevelTables, ramsis } from "./solve/ramsis.ts";
import { ViolationBlocks } from "./solve/violation-blocks.ts";

export interface PromiseSample {
  readonly queries: number;
  readonly seed: number;
}

/** Samples of a promise, and of the latencies of queries that are bound to workers. */
const PROMISE: PromiseSample = { queries: 250_000, seed: 1 };
export const LATENCIES: PromiseSample = { queries: 30_000, seed: 1 };
/** Enough traffic to determine 1 % to a tenth of it; more if the rate is near the ceiling. */
const SERVED: PromiseSample = { queries: 100_000, seed: 1 };
const GLANCE: PromiseSample = { queries: 10_000, seed: 1 };
/** Accuracy that each violation per query above the ceiling costs a candidate of the search. */
export const VIOLATION_PENALTY = 20;
/** Promise of a level before its simulation. */
const UNKNOWN: Expected = {
  ...{ accuracyPerSatisfied: 0, accuracyPerQuery: 0, violationRate: 1 },
  upperBoundAccuracy: 1,
  byBatch: { accuracy: { median: 0, p99: 0 }, violationRate: { median: 1, p99: 1 } },
};

export function promised(problem: LevelProblem, level: LevelTables): Expected {
  const { frame, hasPath, isDivided, isPooled } = problem;
  if (hasPath) return servedPromise(problem, level);
  if (isDivided) return simulatedPromise(problem, level, PROMISE);
  const expected = ramsis.expectedOf(frame, level);
  return isPooled ? expected : { ...expected, ...timesOf(frame, level) };
}

/** The level with its promise; feasible if that keeps all limits. */
export function judged(problem: LevelProblem, level: LevelTables): RamsisLevel {
  const { frame, hasPath, isDivided, isPadded, isPooled } = problem;
  const { loadQps } = level;
  const expected = promised(problem, level);
  if (!hasPath && !isDivided && !isPooled) return withLatencies(frame, { ...level, expected });
  const ofClasses = isDivided && !isPadded && !hasPath;
  const capacityQps = ofClasses ? classCapacityQps(problem) : level.capacityQps;
  return { ...level, ...keptAt(frame, loadQps, capacityQps, expected), expected };
}

/**
 * Adds latencies to a level whose queries are bound to workers: its Markov chain gives all other
 * figures.
 */
export function withLatencies(
  frame: RamsisFrame,
  level: LevelTables & Pick<RamsisLevel, "expected">,
): RamsisLevel {
  const { latencyMs, ...known } = level.expected;
  const expected = latencyMs ? level.expected : { ...known, ...timesOf(frame, level) };
  const feasible = ramsisMissed(frame, { expected }).length === 0;
  const { capacityQps } = keptAt(frame, level.loadQps, level.capacityQps, known);
  return { ...level, capacityQps, feasible, expected };
}

/** Accuracy per query and violation rate of a level over its first queries. */
export function servedLook(
  problem: LevelProblem,
  level: LevelTables,
): { readonly accuracy: number; readonly violationRate: number } {
  const { accuracyPerQuery, sample } = simulatedPromise(problem, level, GLANCE, () => 1);
  const { queries = 1, violations = 0 } = sample ?? {};
  return { accuracy: accuracyPerQuery, violationRate: violations / queries };
}

/**
 * Simulates the server's process, contention and measured service times. A larger sample decides
 * about a rate that is below the ceiling except for its error.
 */
function servedPromise(problem: LevelProblem, level: LevelTables): Expected {
  const { frame, isDivided, ceiling } = problem;
  const bounded = boundingFrame(frame);
  const divided = levelProblem(bounded);
  const boundAt = (rate: number): number =>
    isDivided
      ? classBound(divided, level.loadQps, rate)
      : accuracyBound(bounded, level.loadQps, rate);
  const expected = simulatedPromise(problem, level, SERVED, boundAt);
  const { sample = { queries: SERVED.queries, violations: SERVED.queries } } = expected;
  const isKept = sample.violations <= ceiling * sample.queries;
  if (!isKept || expected.violationRate <= ceiling) return expected;
  return simulatedPromise(problem, level, PROMISE, boundAt);
}

export function simulatedPromise(
  problem: LevelProblem,
  level: LevelTables,
  { queries, seed }: PromiseSample,
  boundAt: (rate: number) => number = (rate) => classBound(problem, level.loadQps, rate),
): Expected {
  const { frame, ceiling, isDivided, isPadded } = problem;
  const run = (longer: number) => {
    const durationMs = (1000 * longer * queries) / level.loadQps;
    const all = new ViolationBlocks(durationMs);
    const ofKind = problem.kinds.map(() => new ViolationBlocks(durationMs));
    const onViolation = (arrivalMs: number, kind: number): void => {
      all.count(arrivalMs);
      ofKind[kind]?.count(arrivalMs);
    };
    return { ...simulateLevel(frame, level, { durationMs, seed, onViolation }), all, ofKind };
  };
  // Percentiles matter to promises, not to the looks of a search.
  const isLook = queries < SERVED.queries;
  const { all, ofKind, ...result } = isLook ? run(1) : withEnoughBatches(run);
  const counted = result.byClass ?? result.byBucket ?? {};
  const byKind = problem.kinds.map(({ name }, index): [string, ClassExpected] => {
    return [name, ratesOf(counted[name] ?? result, ofKind[index] ?? all)];
  });
  const rates = ratesOf(result, all);
  const upperBoundAccuracy = boundAt(Math.min(1, Math.max(ceiling, rates.violationRate)));
  return {
    ...rates,
    // A sample is above the bound only by chance.
    accuracyPerQuery: Math.min(rates.accuracyPerQuery, upperBoundAccuracy),
    upperBoundAccuracy,
    servedBoundAccuracy: boundAt(0),
    sample: { queries: result.queries, violations: result.queries - result.satisfied },
    latencyMs: latencyPromise(result.latencyMs),
    queueMs: latencyPromise(result.queueMs),
    byBatch: byBatchOf(result),
    ...(isDivided && !isPadded && { byClass: Object.fromEntries(byKind) }),
    ...(isPadded && { byBucket: byKind.map(([, figures]) => figures) }),
  };
}

/** Simulates a level alone, at its load, with the arrivals that it was computed for. */
function simulateLevel(
  frame: RamsisFrame,
  level: LevelTables,
  run: Pick<SimulationOptions, "durationMs" | "seed" | "onViolation">,
): SimulationResult {
  const only = { ...level, feasible: true, expected: UNKNOWN };
  const bundle: RamsisBundle = {
    ...frame,
    levels: [only],
    provenance: { compiler: "", inputs: [] },
  };
  return simulate(bundle, {
    ...run,
    arrivals: steadyArrivals(frame.arrivals, level.loadQps),
    serviceTimes: isSampled(frame) ? "sampled" : "p95",
  });
}

function timesOf(frame: RamsisFrame, level: LevelTables): ExpectedTimes {
  const { queries, seed } = LATENCIES;
  const { latencyMs, queueMs } = withEnoughBatches((longer) => {
    const durationMs = (1000 * longer * queries) / level.loadQps;
    return simulateLevel(frame, level, { durationMs, seed });
  });
  return { latencyMs: latencyPromise(latencyMs), queueMs: latencyPromise(queueMs) };
}

/** Accuracy that latencies cost: their price, and the excess over their targets. */
export function latencyCost(
  { slo, policy }: Pick<RamsisFrame, "slo" | "policy">,
  { latencyMs }: Pick<Expected, "latencyMs">,
): number {
  const { p50 = 0, p95 = 0 } = latencyMs ?? {};
  const { safePrice } = latencyObjective(policy);
  // Uses the median, which a level states, for the mean.
  return (safePrice * p50) / slo.latencyMs + TARGET_PENALTY * targetExcess(slo, { p50, p95 });
}

/** Accuracy per query, less the cost of excess violations of each kind and of latency. */
export function scoreOf({ frame, kinds, ceiling }: LevelProblem, expected: Expected): number {
  let score = expected.accuracyPerQuery - latencyCost(frame, expected);
  for (const [index, { name, share }] of kinds.entries()) {
    const figures = expected.byClass?.[name] ?? expected.byBucket?.[index];
    const excess = Math.max(0, (figures?.violationRate ?? 1) - ceiling);
    score -= VIOLATION_PENALTY * share * excess;
  }
  return score;
}

/** Highest violation rate: of all queries, or of a class. */
export function worstViolationRate({ violationRate, byClass = {} }: Expected): number {
  return Math.max(violationRate, ...Object.values(byClass).map((one) => one.violationRate));
}

function ratesOf(
  one: Pick<SimulationResult, "queries" | "accuracyPerSatisfied" | "accuracyPerQuery">,
  violations: ViolationBlocks,
): ClassExpected {
  return {
    accuracyPerSatisfied: one.accuracyPerSatisfied ?? 0,
    accuracyPerQuery: one.accuracyPerQuery ?? 0,
    violationRate: violations.upperRate(one.queries),
  };
}

/** A batch is late when its first query is. */
function byBatchOf({ byVariant }: SimulationResult): Expected["byBatch"] {
  const outcomes = Object.values(byVariant);
  const total = outcomes.reduce((sum, { batches }) => sum + batches, 0);
  const timely = outcomes.map(({ accuracy, timelyBatches: weight }) => ({ accuracy, weight }));
  const late = 1 - timely.reduce((sum, { weight }) => sum + weight, 0) / total;
  return distributionOf(timely, total, late);
}
