/**
 * Pooled late binding: one queue for all workers, and a policy that binds queries when a worker is
 * free.
 *
 * This file ties the parts together: frame → problem → search → table, and its promises, by
 * simulation.
 */
import {
  type ActionValues,
  type Expected,
  NO_ACTION,
  type NoActionValues,
  type RamsisLevel,
} from "stratagem-runtime/internal/bundle/schema";
import { Rng } from "stratagem-runtime/internal/core/rng";
import type { RamsisFrame } from "../../../../model/frames.ts";
import { arrivalSource, steadyArrivals } from "../../../../simulate/arrivals.ts";
import { latencyPromise } from "../../../../simulate/latency-sample.ts";
import { serviceTimeModel } from "../../../../simulate/service-times.ts";
import type { FluidBound } from "../fluid-bound.ts";
import type { WorkerProblem } from "../worker-problem.ts";
import { oneWorkerRule } from "./one-worker-rule.ts";
import {
  type Candidate,
  type FoundPolicy,
  type Sample,
  type SearchEffort,
  searchPolicy,
  upperRate,
} from "./policy-search.ts";
import { type PooledProblem, pooledProblem } from "./pooled-problem.ts";
import {
  batchDistribution,
  type DecisionTable,
  type NextServiceMs,
  servedSummary,
  simulatePooled,
  UNDECIDED,
} from "./pooled-simulation.ts";

import { PROMISE_QUERIES, PROMISE_SLOS, sampleSpan } from "./sample-size.ts";
import { type SimpleRule, simpleRules } from "./simple-rules.ts";

/** Smallest share of decisions for which a bolder table is worth a mixture. */
const SMALLEST_SHARE = 0.002;
/** Random streams: policies are searched, compared and judged on different arrivals. */
const SEED = 1;
const SERVICE_STREAM = 9;
const CLASS_STREAM = 8;
const PROMISE = { stream: 10, queries: PROMISE_QUERIES, slos: PROMISE_SLOS };
/** A short look at a table. */
const GLIMPSE = { stream: 14, queries: 10_000, slos: 10 };

type PromisedFigures = Omit<Expected, "upperBoundAccuracy" | "servedBoundAccuracy">;

export interface PooledSolution extends Pick<RamsisLevel, "actionByState" | "mixture"> {
  /** Name of the winner. */
  readonly method: string;
  /** Policies tried. */
  readonly tries: number;
}

/**
 * @param worker the problem of a worker at the same load.
 * @param bound of the same level.
 */
export function solvePooled(
  frame: RamsisFrame,
  worker: WorkerProblem,
  loadQps: number,
  bound: FluidBound,
): PooledSolution {
  const problem = pooledProblem(frame, loadQps);
  const { candidate, mixture, tries } = search(frame, problem, worker, bound);
  const actionByState = tableOf(problem, candidate);
  const bolder = mixture && tableOf(problem, mixture.candidate);
  const found = { actionByState, method: candidate.name, tries };
  let share = mixture?.share ?? 0;
  while (bolder && share > 0) {
    const mixed = { share, actionByState: bolder };
    const { violationRate } = promiseOf(frame, problem, { actionByState, mixture: mixed });
    if (violationRate <= problem.maxViolationRate) return { ...found, mixture: mixed };
    // The promise may exceed what the search saw; the limit must hold for the promise too.
    share = share > SMALLEST_SHARE ? share / 2 : 0;
  }
  return { ...found, mixture: null };
}

/** Sample that compares rules before the serving path is simulated. */
const RULE_LOOK = { stream: 11, queries: 8_000, slos: 5 };
const BEST_RULES = 6;
const SAFEST_RULES = 2;
/** Accuracy that each violation per query above the ceiling costs a rule. */
const RULE_PENALTY = 20;

/**
 * Tables of simple rules, which compete for a level of a bundle with a serving path: the best ones,
 * and those with the fewest violations, without the path.
 */
export function ruleTables(
  frame: RamsisFrame,
  loadQps: number,
): { readonly method: string; readonly actionByState: RamsisLevel["actionByState"] }[] {
  const problem = pooledProblem(frame, loadQps);
  const cells = new Uint16Array(problem.rows.length * problem.slackMs.length).fill(UNDECIDED);
  const { stream, queries, slos } = RULE_LOOK;
  const surroundings = sampler(frame, problem, true)(stream, queries, slos);
  const looked = simpleRules(problem).map(({ name, decide }) => {
    const table = { cells: cells.slice(), decideCell: decide };
    const outcome = simulatePooled(problem, surroundings, { table, mixture: null });
    const rate = outcome.violations / outcome.queries;
    const excess = Math.max(0, rate - problem.maxViolationRate);
    return {
      name,
      table,
      rate,
      score: outcome.accuracySum / outcome.queries - RULE_PENALTY * excess,
    };
  });
  const best = [...looked].sort((a, b) => b.score - a.score).slice(0, BEST_RULES);
  const safest = [...looked].sort((a, b) => a.rate - b.rate).slice(0, SAFEST_RULES);
  return [...new Set([...best, ...safest])].map(({ name, table }) => {
    return { method: name, actionByState: tableOf(problem, { table }) };
  });
}

/**
 * The best table for a queue whose workers serve other queues too.
 * @param worker its arrivals sped up by `slowdown`, so that `bound` holds.
 * @param slowdown as in `PooledProblem`.
 */
export function solveSlowed(
  frame: RamsisFrame,
  worker: WorkerProblem,
  loadQps: number,
  slowdown: number,
  bound: FluidBound,
  effort: SearchEffort = "full",
): Pick<PooledSolution, "actionByState" | "method" | "tries"> {
  const problem = pooledProblem(frame, loadQps, slowdown);
  const { candidate, tries } = search(frame, problem, worker, bound, effort);
  return { actionByState: tableOf(problem, candidate), method: candidate.name, tries };
}

function search(
  frame: RamsisFrame,
  problem: PooledProblem,
  worker: WorkerProblem,
  bound: FluidBound,
  effort: SearchEffort = "full",
): FoundPolicy {
  const rules = (): SimpleRule[] => [
    ...simpleRules(problem),
    ...(effort === "brief" || problem.workerCount > 1 ? [] : [oneWorkerRule(problem, worker)]),
  ];
  return searchPolicy(problem, bound, sampler(frame, problem, true), rules, effort);
}

export const TWO_TABLES: NoActionValues = {
  reason: "the level mixes two tables to keep the ceiling on violations",
};

/**
 * Worth of the batches that can be formed in a state, by the level's policy, which is searched
 * again for it.
 * @param bound as in `solvePooled`.
 */
export function pooledValues(
  frame: RamsisFrame,
  worker: WorkerProblem,
  { loadQps, actionByState, mixture }: RamsisLevel,
  bound: FluidBound,
  state: { readonly queued: number; readonly slackMs: number },
): ActionValues | NoActionValues {
  if (mixture !== null) return TWO_TABLES;
  const problem = pooledProblem(frame, loadQps);
  const { candidate } = search(frame, problem, worker, bound);
  if (Buffer.compare(bytesOf(tableOf(problem, candidate)), bytesOf(actionByState)) !== 0) {
    return { reason: "this version of the solver finds another table" };
  }
  if (candidate.worths === null) return { reason: ruleText(candidate.name) };
  const queued = problem.rows.findLast((row) => row <= state.queued) ?? 1;
  const slackMs = problem.slackMs.findLast((ms) => ms <= state.slackMs) ?? 0;
  const worths = candidate.worths(queued, slackMs);
  const [best] = worths;
  if (best === undefined) return { reason: "no batch ends within the slack" };
  const actions = worths.map(({ action: { variant, batch }, worth }) => {
    return { variant, batch, advantage: worth - best.worth };
  });
  return { unit: "accuracy less price", actions };
}

/** Descriptions of simple rules, by the first word of their names. */
const RULES: Readonly<Record<string, string>> = {
  greedy: "all waiting queries run on the most accurate variant that ends in time",
  maxacc: "the most accurate variant that serves one query in time runs as many as it can in time",
  maxbatch: "the largest batch that ends in time runs, on the most accurate variant for it",
  slackfit: "the batch that fills the slack best runs",
  "slackfit-b": "the batch that fills the slack best runs",
  ladder: "the number of waiting queries chooses the variant and the batch",
  fixed: "one variant serves all",
  symphony: "one variant serves all, each batch as late as possible",
  deferred: "one variant serves all, in full batches of a given size",
  value: "each worker decides as if it were alone",
};

/** Explains a table that a simple rule made, which does not weigh actions. */
function ruleText(name: string): string {
  const words = RULES[name.split(" ")[0] ?? ""] ?? name;
  return `the best table found follows a simple rule that does not weigh actions (${words})`;
}

/**
 * Promises of a table of pooled decisions at a load: measured over simulated queries, the same for
 * the same table.
 */
export function expectedOfPooled(
  frame: RamsisFrame,
  level: Pick<RamsisLevel, "loadQps" | "actionByState" | "mixture">,
): PromisedFigures {
  return promiseOf(frame, pooledProblem(frame, level.loadQps), level);
}

/** Figures of a table from a short sample. */
export function glimpseOfPooled(
  frame: RamsisFrame,
  level: Pick<RamsisLevel, "loadQps" | "actionByState" | "mixture">,
): PromisedFigures {
  return promiseOf(frame, pooledProblem(frame, level.loadQps), level, GLIMPSE);
}

function promiseOf(
  frame: RamsisFrame,
  problem: PooledProblem,
  { actionByState, mixture }: Pick<RamsisLevel, "actionByState" | "mixture">,
  { stream, queries: most, slos } = PROMISE,
): PromisedFigures {
  const surroundings = sampler(frame, problem)(stream, most, slos);
  const outcome = simulatePooled(problem, surroundings, {
    table: decided(actionByState),
    mixture: mixture && { table: decided(mixture.actionByState), share: mixture.share },
  });
  const { queries, violations, accuracySum } = outcome;
  const satisfied = queries - violations;
  return {
    accuracyPerSatisfied: satisfied > 0 ? accuracySum / satisfied : 0,
    accuracyPerQuery: accuracySum / queries,
    violationRate: upperRate(outcome, queries),
    sample: { queries, violations },
    latencyMs: latencyPromise(servedSummary(outcome.latencyMs)),
    queueMs: latencyPromise(servedSummary(outcome.queueMs)),
    byBatch: batchDistribution(problem, outcome),
  };
}

function decided({ data }: RamsisLevel["actionByState"]): DecisionTable {
  return { cells: Uint16Array.from(data), decideCell: () => NO_ACTION };
}

function tableOf(
  { rows, slackMs }: PooledProblem,
  { table: { cells, decideCell } }: Pick<Candidate, "table">,
): RamsisLevel["actionByState"] {
  const data = cells.slice();
  rows.forEach((queued, row) => {
    slackMs.forEach((slack, column) => {
      const cell = row * slackMs.length + column;
      if (data[cell] === UNDECIDED) data[cell] = decideCell(queued, slack, cell);
    });
  });
  return { dtype: "uint16", shape: [rows.length, slackMs.length], data };
}

function bytesOf({ data }: RamsisLevel["actionByState"]): Buffer {
  return Buffer.from(data.buffer, data.byteOffset, data.byteLength);
}

/**
 * Arrivals, classes and service times for a simulation.
 * @param isWhole as for `sampleSpan`: a search includes the beginning and the end of an overload.
 */
function sampler(frame: RamsisFrame, problem: PooledProblem, isWhole = false): Sample {
  return (stream, queries, slos) => {
    const { arrivalsPerMs, sloMs, workerCount, bestRatePerMs } = problem;
    const isOverloaded = arrivalsPerMs > workerCount * bestRatePerMs;
    const level = { arrivalsPerMs, sloMs, workerCount, isOverloaded };
    const { counted, count } = sampleSpan(level, { queries, slos, isWhole });
    const arrivalMs = arrivals(frame, problem, stream, counted, count);
    if (isOverloaded && isWhole) crowd(arrivalMs, problem.capacity);
    return {
      arrivalMs,
      counted,
      classByQuery: classes(problem, stream, count),
      openServiceTimes: () => serviceTimes(frame),
    };
  };
}

function arrivals(
  { arrivals: model }: RamsisFrame,
  { arrivalsPerMs }: PooledProblem,
  stream: number,
  [from, to]: readonly [number, number],
  count: number,
): Float64Array {
  const process = steadyArrivals(model, 1000 * arrivalsPerMs);
  const timesMs = new Float64Array(count);
  arrivalSource(process, new Rng(SEED, stream)).fill(timesMs);
  // Scaled to the exact load: the error of a sample's rate moves accuracy more than the policy
  // does.
  const sampledMs = (timesMs[Math.min(to, count - 1)] ?? 1) - (timesMs[from] ?? 0);
  const scale = (to - from) / arrivalsPerMs / sampledMs;
  return timesMs.map((ms) => ms * scale);
}

/** Adds a full queue of arrivals halfway: the winning policy must recover from it. */
function crowd(arrivalMs: Float64Array, queries: number): void {
  const end = Math.ceil(arrivalMs.length / 2);
  arrivalMs.fill(arrivalMs[end] ?? 0, Math.max(0, end - queries), end);
}

function classes(
  { classes: all }: PooledProblem,
  stream: number,
  count: number,
): Uint8Array | null {
  if (all.length === 1) return null;
  const rng = new Rng(SEED, CLASS_STREAM * 100 + stream);
  return Uint8Array.from({ length: count }, () => {
    let left = rng.nextFloat();
    const found = all.findIndex(({ share }) => {
      left -= share;
      return left < 0;
    });
    return found < 0 ? all.length - 1 : found;
  });
}

function serviceTimes({ tasks, policy }: RamsisFrame): NextServiceMs {
  const [task] = tasks;
  if (task === undefined) throw new RangeError("a RAMSIS frame has one task");
  const mode = policy.serviceTimes === "quantiles" ? "sampled" : "p95";
  const model = serviceTimeModel(task.serviceTimes, mode, new Rng(SEED, SERVICE_STREAM));
  return (variant, batch) => model.nextMs(variant, batch);
}
