/**
 * Pooled late binding: one queue for all workers, and a policy that binds queries when a worker is free. The rule is a price on the workers' time;
 * its few parameters are fitted by simulation, at each load anew.
 */
import {
  type ActionValues,
  type Expected,
  NO_ACTION,
  type NoActionValues,
  type RamsisLevel,
} from "../../../../runtime/bundle/schema.ts";
import { Rng } from "../../../../runtime/core/rng.ts";
import { type Minimum, minimise } from "../../../numeric/nelder-mead.ts";
import { type ArrivalProcess, arrivalSource } from "../../../simulate/arrivals.ts";
import { QueryClasses } from "../../../simulate/query-classes.ts";
import { serviceTimeModel } from "../../../simulate/service-times.ts";
import type { RamsisFrame } from "../../solver.ts";
import type { FluidBound } from "../fluid-bound.ts";
import { type PooledProblem, pooledProblem } from "./pooled-problem.ts";
import {
  batchDistribution,
  type Decide,
  type Surroundings,
  simulatePooled,
  UNDECIDED,
} from "./pooled-simulation.ts";
import { decide, type PriceRule, worthOf } from "./price-rule.ts";

/**
 * The fit in three rounds, each on more arrivals than the one before: from every start, from the best three of what came of it, and from the best one.
 */
const ROUNDS = [
  { queries: 6_000, tries: 30, kept: 3, shrink: 1 },
  { queries: 12_000, tries: 30, kept: 1, shrink: 0.6 },
  { queries: 30_000, tries: 24, kept: 1, shrink: 0.25 },
] as const;
/** Queries that a level's promise is measured on. */
const PROMISE_QUERIES = 250_000;
/** Random streams: rules are fitted, compared and judged on different arrivals. */
const SEED = 1;
const ROUND_STREAM = 11;
const PROMISE_STREAM = 10;
const SERVICE_STREAM = 9;
const CLASS_STREAM = 100;
/** A price at which the whole SLO of a worker is worth so much accuracy: next to nothing. */
const LEAST_PRICE_OF_SLO = 0.02;
/** Accuracy below the bound that is not worth another try. */
const BOUND_TOLERANCE = 1e-5;
/** Accuracy that a violation too many per query costs a rule. */
const VIOLATION_PENALTY = 20;

/** Where the fit begins: level, growth, pivot, wait margin (in hundredths), reserve. */
const STARTS: readonly (readonly number[])[] = [
  [0, 1, 1, 0.1, 0],
  [0, 3, 1, 0.1, 0],
  [0, 0.3, 0.5, 0.1, 2],
  [-0.5, 2, 2, 0.1, 1],
  [-0.2, 1.2, -1.2, 0.2, 3.5],
  [-1.5, 2, 1, 0.1, 0],
];
const STEPS = [0.3, 1, 0.5, 0.2, 1];
export interface PooledSolution {
  readonly expected: Omit<Expected, "upperBoundAccuracy">;
  readonly actionByState: RamsisLevel["actionByState"];
  /** Rules tried. */
  readonly tries: number;
}

/** The rule of a level and the price it starts from. */
interface FittedRule {
  readonly problem: PooledProblem;
  readonly rule: PriceRule;
  /** Accuracy per ms of a worker. */
  readonly price: number;
  readonly tries: number;
}

/** @param bound of the same level. */
export function solvePooled(
  frame: RamsisFrame,
  loadQps: number,
  bound: FluidBound,
): PooledSolution {
  const { problem, rule, price, tries } = fitRule(frame, loadQps, bound);
  const actionByState = tableOf(problem, decider(problem, rule, price));
  return { expected: promiseOf(frame, problem, actionByState), actionByState, tries };
}

/** What the batches that can be formed in a state are worth by the level's rule, which is fitted again for it. @param bound as `solvePooled`. */
export function pooledValues(
  frame: RamsisFrame,
  { loadQps, actionByState }: RamsisLevel,
  bound: FluidBound,
  state: { readonly queued: number; readonly slackMs: number },
): ActionValues | NoActionValues {
  const { problem, rule, price } = fitRule(frame, loadQps, bound);
  const table = tableOf(problem, decider(problem, rule, price));
  if (Buffer.compare(bytesOf(table), bytesOf(actionByState)) !== 0) {
    return { reason: "the table is not the one that this version of the solver would fit" };
  }
  const queued = Math.min(state.queued, problem.capacity);
  const slackMs = problem.slackMs.findLast((ms) => ms <= state.slackMs) ?? 0;
  const worth = worthOf(problem, rule, price, queued, slackMs);
  const [best] = worth;
  if (best === undefined) return { reason: "no batch ends within the slack" };
  const actions = worth.map(({ action: { variant, batch }, gain }) => {
    return { variant, batch, advantage: gain - best.gain };
  });
  return { unit: "accuracy less price", actions };
}

function bytesOf({ data }: RamsisLevel["actionByState"]): Buffer {
  return Buffer.from(data.buffer, data.byteOffset, data.byteLength);
}

function fitRule(frame: RamsisFrame, loadQps: number, bound: FluidBound): FittedRule {
  const problem = pooledProblem(frame, loadQps);
  // Where the bound has time to spare it has no price, but the queue may need one.
  const price = bound.price > 0 ? bound.price : LEAST_PRICE_OF_SLO / problem.sloMs;
  let tries = 0;
  let points: (readonly number[])[] = [...STARTS];
  for (const [round, { queries, tries: maxTries, kept, shrink }] of ROUNDS.entries()) {
    const drawn = drawnQueries(frame, loadQps, ROUND_STREAM + round, queries);
    const costAt = (point: readonly number[]): number => {
      tries++;
      return costOf(frame, problem, drawn, decider(problem, ruleOf(point), price));
    };
    const steps = STEPS.map((step) => step * shrink);
    const minima: Minimum[] = [];
    for (const point of points) {
      const minimum = minimise(costAt, point, steps, maxTries);
      // There is nothing better to find, as at low loads.
      if (minimum.value <= BOUND_TOLERANCE - bound.accuracy) {
        return { problem, rule: ruleOf(minimum.point), price, tries };
      }
      minima.push(minimum);
    }
    minima.sort((left, right) => left.value - right.value);
    points = minima.slice(0, kept).map(({ point }) => point);
  }
  return { problem, rule: ruleOf(points[0] ?? []), price, tries };
}

/** What a table of pooled decisions promises at a load: measured over simulated queries, the same for the same table. */
export function expectedOfPooled(
  frame: RamsisFrame,
  { loadQps, actionByState }: RamsisLevel,
): Omit<Expected, "upperBoundAccuracy"> {
  return promiseOf(frame, pooledProblem(frame, loadQps), actionByState);
}

function promiseOf(
  frame: RamsisFrame,
  problem: PooledProblem,
  { data }: RamsisLevel["actionByState"],
): Omit<Expected, "upperBoundAccuracy"> {
  const outcome = simulatePooled(
    problem,
    {
      ...drawnQueries(frame, problem.loadQps, PROMISE_STREAM, PROMISE_QUERIES),
      nextServiceMs: serviceTimes(frame),
    },
    Uint16Array.from(data),
    () => NO_ACTION,
  );
  const { queries, violations, accuracySum } = outcome;
  const satisfied = queries - violations;
  return {
    accuracyPerSatisfied: satisfied > 0 ? accuracySum / satisfied : 0,
    accuracyPerQuery: accuracySum / queries,
    violationRate: upperRate(violations, queries),
    byBatch: batchDistribution(problem, outcome),
  };
}

/** Not the rate seen but one that the true rate hardly exceeds: three standard errors more, and three violations where there was none (rule of three). */
function upperRate(violations: number, queries: number): number {
  return Math.min(1, (violations + 3 * Math.sqrt(violations) + 3) / queries);
}

function costOf(
  frame: RamsisFrame,
  problem: PooledProblem,
  drawn: DrawnQueries,
  decideCell: Decide,
): number {
  const cells = new Uint16Array(problem.capacity * problem.slackMs.length).fill(UNDECIDED);
  const nextServiceMs = serviceTimes(frame);
  const outcome = simulatePooled(problem, { ...drawn, nextServiceMs }, cells, decideCell);
  // Half of what is allowed, for the sample is small and the true rate may be above what it shows.
  const allowed = problem.maxViolationRate / 2;
  const excess = Math.max(0, outcome.violations / outcome.queries - allowed);
  return VIOLATION_PENALTY * excess - outcome.accuracySum / outcome.queries;
}

function ruleOf([
  level = 0,
  growth = 0,
  pivot = 0,
  margin = 0,
  reserve = 0,
]: readonly number[]): PriceRule {
  return {
    level,
    growth: Math.max(0, growth),
    pivot,
    waitMargin: Math.abs(margin) / 100,
    reserveMs: reserve,
  };
}

function decider(problem: PooledProblem, rule: PriceRule, price: number): Decide {
  return (queued: number, slackMs: number) => decide(problem, rule, price, queued, slackMs);
}

function tableOf(
  { capacity, slackMs }: PooledProblem,
  decideCell: Decide,
): RamsisLevel["actionByState"] {
  const data = new Uint16Array(capacity * slackMs.length);
  for (let row = 0; row < capacity; row++) {
    slackMs.forEach((slack, column) => {
      data[row * slackMs.length + column] = decideCell(row + 1, slack);
    });
  }
  return { dtype: "uint16", shape: [capacity, slackMs.length], data };
}

type DrawnQueries = Pick<Surroundings, "arrivalMs" | "deadlineMs">;

/** Arrivals, and where queries are of classes the deadline of each, its class drawn by the shares. */
function drawnQueries(
  frame: RamsisFrame,
  qps: number,
  stream: number,
  count: number,
): DrawnQueries {
  const arrivalMs = arrivals(frame, qps, stream, count);
  const classes = new QueryClasses(frame.slo, new Rng(SEED, CLASS_STREAM + stream));
  return { arrivalMs, deadlineMs: arrivalMs.map((ms) => ms + classes.sloMs(classes.next())) };
}

function arrivals(
  { arrivals: model }: RamsisFrame,
  qps: number,
  stream: number,
  count: number,
): Float64Array {
  const process = arrivalProcess(model, qps);
  const timesMs = new Float64Array(count);
  arrivalSource(process, new Rng(SEED, stream)).fill(timesMs);
  // Stretched so that the load is the one meant: what a sample has more or less of it moves accuracy more than the policy does.
  const scale = (count * 1000) / qps / (timesMs[count - 1] ?? 1);
  return timesMs.map((ms) => ms * scale);
}

/** Of a trace, a renewal process as bursty as it is. */
function arrivalProcess(model: RamsisFrame["arrivals"], qps: number): ArrivalProcess {
  if (model.process === "gamma") return { kind: "gamma", qps, cv2: model.cv2 };
  if (model.process === "trace" && model.dispersion > 1) {
    return { kind: "gamma", qps, cv2: model.dispersion };
  }
  return { kind: "poisson", qps };
}

/** The same draws for every rule: a rule is not to win by luck. */
function serviceTimes({ tasks, policy }: RamsisFrame): Surroundings["nextServiceMs"] {
  const [task] = tasks;
  if (task === undefined) throw new RangeError("a RAMSIS frame has one task");
  const mode = policy.serviceTimes === "quantiles" ? "sampled" : "p95";
  const model = serviceTimeModel(task.serviceTimes, mode, new Rng(SEED, SERVICE_STREAM));
  return (variant, batch) => model.nextMs(variant, batch);
}
