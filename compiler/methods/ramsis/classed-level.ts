/**
 * A level of a bundle with classes: a table for one queue of all classes, and where that is better
 * a table and workers for each. What either promises is what a simulation by the code that serves
 * gives, class by class.
 */

import {
  type ClassExpected,
  type ClassTable,
  type Expected,
  type RamsisBundle,
  type RamsisLevel,
  type Table,
  violationCeiling,
} from "stratagem-runtime/internal/bundle/schema";
import { classFrame } from "stratagem-runtime/internal/methods/ramsis/bundle/class-views";
import type { RamsisFrame } from "../../model/frames.ts";
import { viewOf } from "../../model/table-view.ts";
import { steadyArrivals } from "../../simulate/arrivals.ts";
import { latencyPromise } from "../../simulate/latency-sample.ts";
import { isSampled } from "./simulate/promised-times.ts";
import { type SimulationOptions, type SimulationResult, simulate } from "./simulate/simulate.ts";
import { classBound, classCapacityQps, fluidSplit } from "./solve/class-fluid.ts";
import { latencyObjective, TARGET_PENALTY, targetExcess } from "./solve/latency-objective.ts";
import { keptAt, type LevelTables, ramsis } from "./solve/ramsis.ts";
import { ViolationBlocks } from "./solve/violation-blocks.ts";

/** What a level's promise is measured on. */
export const PROMISE = { queries: 250_000, seed: 1 };
/** Divisions of the workers that are tried, that of the fluid limit first. */
const MOST_SPLITS = 6;
/**
 * Accuracy per query by which workers of their own have to be better than one queue, which follows
 * other shares of the load by itself.
 */
const LEAST_GAIN = 1e-4;
/**
 * Accuracy that a violation per query too many costs a level, as it costs a candidate of the pooled
 * search.
 */
const VIOLATION_PENALTY = 20;
/** Promise of a level before its simulation. */
const UNKNOWN: Expected = {
  ...{ accuracyPerSatisfied: 0, accuracyPerQuery: 0, violationRate: 1 },
  upperBoundAccuracy: 1,
  byBatch: { accuracy: { median: 0, p99: 0 }, violationRate: { median: 1, p99: 1 } },
};

/** Whether queries of several classes are served. */
export function hasClasses({ slo }: Pick<RamsisFrame, "slo">): boolean {
  return slo.classes !== undefined;
}

/** The same frame and load give the same level, bit for bit. @param frame one with classes. */
export function classedLevel(frame: RamsisFrame, loadQps: number): RamsisLevel {
  const { classes } = frame.policy;
  const shared = sharedLevel(frame, loadQps);
  const separate = classes === "shared" ? null : separateLevel(frame, shared.level);
  if (separate === null) return shared.level;
  const isBetter = separate.score > shared.score + LEAST_GAIN;
  return isBetter || classes === "separate" ? separate.level : shared.level;
}

/**
 * What a level with classes, or buckets, promises, from its tables alone: the same numbers for the
 * same tables, bit for bit.
 */
export function classedExpectation(
  frame: RamsisFrame,
  level: LevelTables,
  { queries, seed }: typeof PROMISE = PROMISE,
  boundAt: (rate: number) => number = (rate) => classBound(frame, level.loadQps, rate),
): Expected {
  const durationMs = (1000 * queries) / level.loadQps;
  const all = new ViolationBlocks(durationMs);
  const kinds = frame.slo.classes ?? frame.buckets ?? [];
  const ofKind = kinds.map(() => new ViolationBlocks(durationMs));
  const result = simulateLevel(frame, level, {
    durationMs,
    seed,
    onViolation: (arrivalMs, kind) => {
      all.count(arrivalMs);
      ofKind[kind]?.count(arrivalMs);
    },
  });
  const counted = result.byClass ?? result.byBucket ?? {};
  const byKind = kinds.map(({ name }, index): [string, ClassExpected] => {
    return [name, ratesOf(counted[name] ?? result, ofKind[index] ?? all)];
  });
  const rates = ratesOf(result, all);
  const allowed = Math.min(1, Math.max(violationCeiling(frame.slo), rates.violationRate));
  const upperBoundAccuracy = boundAt(allowed);
  return {
    ...rates,
    // What a sample shows above it is chance.
    accuracyPerQuery: Math.min(rates.accuracyPerQuery, upperBoundAccuracy),
    upperBoundAccuracy,
    servedBoundAccuracy: boundAt(0),
    sample: { queries: result.queries, violations: result.queries - result.satisfied },
    latencyMs: latencyPromise(result.latencyMs),
    byBatch: byBatchOf(result),
    ...(kinds.length === 0
      ? {}
      : frame.buckets === undefined
        ? { byClass: Object.fromEntries(byKind) }
        : { byBucket: byKind.map(([, figures]) => figures) }),
  };
}

/** A level alone, at its load, with the arrivals that it was computed for. */
export function simulateLevel(
  frame: RamsisFrame,
  level: LevelTables,
  run: Pick<SimulationOptions, "durationMs" | "seed" | "onViolation">,
): SimulationResult {
  const provenance = { compiler: "", inputs: [] };
  const only = { ...level, feasible: true, expected: UNKNOWN };
  const bundle: RamsisBundle = { ...frame, levels: [only], provenance };
  return simulate(bundle, {
    ...run,
    arrivals: steadyArrivals(frame.arrivals, level.loadQps),
    serviceTimes: isSampled(frame) ? "sampled" : "p95",
    baseline: null,
  });
}

/** The level of a load with the tables of another level, and what they promise there. */
export function classedTableAt(
  frame: RamsisFrame,
  loadQps: number,
  level: LevelTables,
): RamsisLevel {
  return judged(frame, { ...level, loadQps }).level;
}

interface Judged {
  readonly level: RamsisLevel;
  /** Accuracy per query, less what classes violate too much and the price of latency. */
  readonly score: number;
}

function judged(frame: RamsisFrame, level: LevelTables): Judged {
  const expected = classedExpectation(frame, level);
  const capacityQps = classCapacityQps(frame);
  const ceiling = violationCeiling(frame.slo);
  const classes = frame.slo.classes ?? [];
  let score = expected.accuracyPerQuery - latencyCost(frame, expected);
  for (const { name, share } of classes) {
    const excess = Math.max(0, (expected.byClass?.[name]?.violationRate ?? 1) - ceiling);
    score -= VIOLATION_PENALTY * share * excess;
  }
  const kept = keptAt(frame, level.loadQps, capacityQps, expected);
  return { level: { ...level, ...kept, expected }, score };
}

/** Accuracy that the latencies of a level count as, and by how much they miss their targets. */
export function latencyCost(
  { slo, policy }: Pick<RamsisFrame, "slo" | "policy">,
  { latencyMs }: Pick<Expected, "latencyMs">,
): number {
  const { p50 = 0, p95 = 0 } = latencyMs ?? {};
  const { safePrice } = latencyObjective(policy);
  // The median, which a level states, for the mean.
  return (safePrice * p50) / slo.latencyMs + TARGET_PENALTY * targetExcess(slo, { p50, p95 });
}

/**
 * One table for all: the solver's, or if that is better the one of the shortest SLO, which is what
 * there would be without classes.
 */
function sharedLevel(frame: RamsisFrame, loadQps: number): Judged {
  const own = judged(frame, ramsis.solveLevel(frame, loadQps));
  const strict = judged(frame, asOfShortest(frame, loadQps));
  return strict.score > own.score ? strict : own;
}

/**
 * The level that there would be if all queries had the shortest SLO; where more time is left, what
 * it does with that.
 */
function asOfShortest(frame: RamsisFrame, loadQps: number): RamsisLevel {
  const { classSpaces = [], slo, arrivals, cluster, decisionSpace } = frame;
  const latencies = (slo.classes ?? []).map(({ latencyMs }) => latencyMs);
  const shortest = latencies.indexOf(Math.min(...latencies));
  const { slackMs = decisionSpace.slackMs } = classSpaces[shortest] ?? {};
  const space = { ...decisionSpace, slackMs };
  const alone = { ...classFrame(frame, shortest, 1), arrivals, cluster, decisionSpace: space };
  const { actionByState, mixture, solve, ...level } = ramsis.solveLevel(alone, loadQps);
  const widened = (table: Table) => withColumns(table, slackMs, decisionSpace.slackMs);
  return {
    ...level,
    solve: { ...solve, method: `${solve.method}, all held to ${latencies[shortest]} ms` },
    actionByState: widened(actionByState),
    mixture: mixture && { ...mixture, actionByState: widened(mixture.actionByState) },
  };
}

/**
 * The same decisions on another slack grid: those of the last entry of the old one that is not
 * above.
 */
function withColumns(table: Table, from: Table, to: Table): Table {
  const [rowCount = 0] = table.shape;
  const view = viewOf(table);
  const columns = Array.from(to.data, (ms) => from.data.findLastIndex((own) => own <= ms));
  const cells = Array.from({ length: rowCount }, (_, row) =>
    columns.map((column) => view.get(row, column)),
  );
  const flat = Uint16Array.from(cells.flat());
  return { dtype: "uint16", shape: [rowCount, columns.length], data: flat };
}

/** Null where there are fewer workers than classes. */
function separateLevel(frame: RamsisFrame, shared: RamsisLevel): Judged | null {
  const split = fluidSplit(frame, shared.loadQps);
  if (split === null) return null;
  const tables = new ClassTables(frame, shared.loadQps);
  return bestSplit(split, (workers) => {
    const classTables = tables.of(workers);
    return judged(frame, { ...shared, solve: tables.solveOf(shared), classTables });
  });
}

/**
 * Moves workers from class to class, one at a time and on in the same direction, as long as that is
 * better.
 */
function bestSplit(start: readonly number[], judge: (split: readonly number[]) => Judged): Judged {
  const judgedByKey = new Map<string, Judged>();
  let split = start;
  let best = judge(split);
  judgedByKey.set(split.join(), best);
  for (let from = 0; from < split.length; from++) {
    for (let to = 0; to < split.length; to++) {
      while (from !== to && (split[from] ?? 0) > 1) {
        const moved = split.map((count, at) => count - Number(at === from) + Number(at === to));
        if (judgedByKey.has(moved.join())) break;
        if (judgedByKey.size === MOST_SPLITS) return best;
        const other = judge(moved);
        judgedByKey.set(moved.join(), other);
        if (other.score <= best.score) break;
        best = other;
        split = moved;
      }
    }
  }
  return best;
}

/** The tables of classes alone, each solved once for each number of workers. */
class ClassTables {
  readonly #frame: RamsisFrame;
  readonly #loadQps: number;
  readonly #solved = new Map<string, RamsisLevel>();

  constructor(frame: RamsisFrame, loadQps: number) {
    this.#frame = frame;
    this.#loadQps = loadQps;
  }

  /** @param split workers of each class. */
  of(split: readonly number[]): ClassTable[] {
    return split.map((workers, index) => {
      const { actionByState } = this.#levelOf(index, workers);
      return { workers, actionByState };
    });
  }

  /** What has been solved so far, the shared table included. */
  solveOf({ solve }: RamsisLevel): RamsisLevel["solve"] {
    const all = [...this.#solved.values()].map((level) => level.solve);
    return {
      ...solve,
      iterations: all.reduce((sum, { iterations }) => sum + iterations, solve.iterations),
    };
  }

  #levelOf(index: number, workers: number): RamsisLevel {
    const key = `${index}/${workers}`;
    const known = this.#solved.get(key);
    if (known !== undefined) return known;
    const share = this.#frame.slo.classes?.[index]?.share ?? Number.NaN;
    const alone = classFrame(this.#frame, index, workers);
    const level = ramsis.solveLevel(alone, share * this.#loadQps);
    this.#solved.set(key, level);
    return level;
  }
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

/**
 * Accuracy and lateness that half, and 99 %, of the batches have at least, or at most; a batch is
 * late when its first query is.
 */
function byBatchOf({ byVariant }: SimulationResult): Expected["byBatch"] {
  const outcomes = Object.values(byVariant).sort((a, b) => b.accuracy - a.accuracy);
  const total = outcomes.reduce((sum, { batches }) => sum + batches, 0);
  const timely = outcomes.reduce((sum, { timelyBatches }) => sum + timelyBatches, 0);
  const reachedBy = (share: number): number => {
    let reached = 0;
    for (const { timelyBatches, accuracy } of outcomes) {
      reached += timelyBatches;
      if (reached >= share * total) return accuracy;
    }
    return 0;
  };
  const late = 1 - timely / total;
  return {
    accuracy: { median: reachedBy(0.5), p99: reachedBy(0.99) },
    violationRate: { median: late > 0.5 ? 1 : 0, p99: late > 0.01 ? 1 : 0 },
  };
}
