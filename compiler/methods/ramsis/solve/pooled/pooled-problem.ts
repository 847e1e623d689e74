/** The decision problem of a cluster whose workers share one queue, as data. */
import {
  type RamsisBundle,
  type Slo,
  violationCeiling,
} from "stratagem-runtime/internal/bundle/schema";
import { rowLengths } from "stratagem-runtime/internal/methods/ramsis/bundle/kind-views";
import { workerCountOf } from "stratagem-runtime/internal/methods/ramsis/core/workers";
import { itemsOf, viewOf } from "../../../../model/table-view.ts";
import { dispersionOfModel } from "../arrival-counts.ts";
import { type LatencyObjective, latencyObjective } from "../latency-objective.ts";

export interface PooledAction {
  /** Index in the actions of the decision space. */
  readonly index: number;
  readonly variant: number;
  readonly batch: number;
  /** Service time that decides whether it ends in time. */
  readonly serviceMs: number;
  /** Mean worker time that it takes, including everything the worker does in between. */
  readonly meanMs: number;
  readonly accuracy: number;
}

/** One of the kinds of queries that share the queue. */
interface QueryClass {
  readonly sloMs: number;
  /** Share of the arrivals, in (0, 1]. */
  readonly share: number;
}

export interface PooledProblem {
  readonly workerCount: number;
  /**
   * Mean ratio of the time a batch occupies its worker to its run time: above 1 if workers serve
   * other queues too.
   */
  readonly slowdown: number;
  readonly arrivalsPerMs: number;
  /** Variance over mean of the arrivals of an interval, at least 1. */
  readonly dispersion: number;
  /** The longest of the classes. */
  readonly sloMs: number;
  /** One, unless queries have several SLOs. */
  readonly classes: readonly QueryClass[];
  /** Capacity of the queue, in queries. */
  readonly capacity: number;
  /** Queue lengths that have a row, ascending from 1 to `capacity`. */
  readonly rows: Uint32Array;
  /** Ascending from 0 to the SLO, shape (slackCount,). */
  readonly slackMs: Float64Array;
  /** Indexed like the decision space. */
  readonly actions: readonly PooledAction[];
  /**
   * For each batch size the variants worth choosing: the more accurate the slower. They finish
   * within the SLO.
   */
  readonly choices: readonly PooledAction[];
  /** Most accuracy per ms of a worker. */
  readonly bestUsePerMs: number;
  /** Most queries per ms of a worker. */
  readonly bestRatePerMs: number;
  /**
   * For each number of late queries (less one) the batch that serves the most of them per time; up
   * to the largest batch.
   */
  readonly rescues: readonly PooledAction[];
  /** Whether queries are dropped instead of served late. */
  readonly drops: boolean;
  /**
   * A query with less slack is dropped, whatever the table says; minus infinity if late queries
   * wait without a limit.
   */
  readonly leastSlackMs: number;
  /** Maximum delay of an answer after its deadline; infinite without a limit. */
  readonly lateMs: number;
  /** Run time of one query of the fastest variant. */
  readonly fastestMs: number;
  /** Most violations per query that the policy may have. */
  readonly maxViolationRate: number;
  /** Accuracy that a violation costs in addition to the query's own, below the ceiling. */
  readonly violationPrice: number;
  readonly latency: LatencyObjective;
  /** Targets of latency percentiles, if the SLO has any. */
  readonly targets: Pick<Slo, "p50Ms" | "p95Ms"> | null;
}

/**
 * If no ceiling is stated, each violation must gain as much accuracy as two right answers; up to a
 * stated ceiling violations cost nothing.
 */
const UNASKED_PRICE = 1;

export function pooledProblem(
  frame: Pick<RamsisBundle, "slo" | "cluster" | "tasks" | "decisionSpace" | "policy" | "arrivals">,
  loadQps: number,
  slowdown = 1,
): PooledProblem {
  const { slo, tasks, decisionSpace, policy } = frame;
  const [task] = tasks;
  if (task === undefined) throw new RangeError("a RAMSIS frame has one task");
  const { decisionMs, quantiles } = task.serviceTimes;
  const isRandom = policy.serviceTimes === "quantiles" && quantiles !== null;
  const latencyMs = viewOf(decisionMs);
  const meanLatencyMs = viewOf(isRandom ? quantiles.meanMs : decisionMs);
  const pairs = decisionSpace.actions.data;
  const actions = Array.from({ length: pairs.length / 2 }, (_, index): PooledAction => {
    const [variant = 0, batch = 0] = pairs.subarray(2 * index, 2 * index + 2);
    return {
      index,
      variant,
      batch,
      serviceMs: latencyMs.get(variant, batch - 1),
      meanMs: slowdown * meanLatencyMs.get(variant, batch - 1),
      accuracy: task.variants[variant]?.accuracy ?? 0,
    };
  });
  const sloMs = slo.latencyMs;
  const fastestMs = Math.min(...itemsOf(latencyMs.pick(null, 0)));
  const { lateMs = Number.POSITIVE_INFINITY } = policy;
  const choices = choicesOf(actions, sloMs);
  const uses = choices.map(({ accuracy, batch, meanMs }) => (accuracy * batch) / meanMs);
  return {
    workerCount: workerCountOf(frame),
    slowdown,
    arrivalsPerMs: loadQps / 1000,
    dispersion: Math.max(1, dispersionOfModel(frame.arrivals)),
    sloMs,
    classes: slo.classes?.map((one) => ({ sloMs: one.latencyMs, share: one.share })) ?? [
      { sloMs, share: 1 },
    ],
    capacity: decisionSpace.maxQueue + 1,
    rows: Uint32Array.from(rowLengths(decisionSpace)),
    slackMs: Float64Array.from(decisionSpace.slackMs.data),
    actions,
    choices,
    bestUsePerMs: Math.max(0, ...uses),
    bestRatePerMs: Math.max(0, ...choices.map(({ batch, meanMs }) => batch / meanMs)),
    rescues: rescuesOf(actions, sloMs, latencyMs.shape[1] ?? 0),
    drops: policy.drop,
    leastSlackMs: policy.drop ? fastestMs : Math.min(0, sloMs - lateMs),
    lateMs,
    fastestMs,
    maxViolationRate: violationCeiling(slo),
    violationPrice: slo.maxViolationRate === null ? UNASKED_PRICE : 0,
    latency: latencyObjective(policy),
    targets: slo.p50Ms === undefined && slo.p95Ms === undefined ? null : slo,
  };
}

/**
 * Replaces the classes by one whose SLO makes as many queries wait as all of them when the first
 * has as much slack.
 */
export function asOneClass(problem: PooledProblem): PooledProblem {
  if (problem.classes.length === 1) return problem;
  const sloMs = problem.classes.reduce((sum, one) => sum + one.share * one.sloMs, 0);
  return { ...problem, sloMs };
}

/** The same problem with all batch times stretched. */
export function stretched(problem: PooledProblem, factor: number): PooledProblem {
  const longer = (action: PooledAction): PooledAction => {
    return {
      ...action,
      serviceMs: factor * action.serviceMs,
      meanMs: factor * action.meanMs,
    };
  };
  const choices = problem.choices.map(longer).filter(({ serviceMs }) => serviceMs <= problem.sloMs);
  return { ...problem, actions: problem.actions.map(longer), choices };
}

function choicesOf(actions: readonly PooledAction[], sloMs: number): PooledAction[] {
  const sorted = actions
    .filter(({ serviceMs }) => serviceMs <= sloMs)
    .sort((a, b) => a.batch - b.batch || a.serviceMs - b.serviceMs || b.accuracy - a.accuracy);
  const choices: PooledAction[] = [];
  for (const action of sorted) {
    const last = choices[choices.length - 1];
    if (last?.batch === action.batch && last.accuracy >= action.accuracy) continue;
    choices.push(action);
  }
  return choices;
}

/** The same batches as in the runtime's dispatcher. */
function rescuesOf(
  actions: readonly PooledAction[],
  sloMs: number,
  maxBatch: number,
): PooledAction[] {
  const rescues: PooledAction[] = [];
  const rate = ({ batch, serviceMs }: PooledAction): number => batch / serviceMs;
  for (let queued = 1; queued <= maxBatch; queued++) {
    let best = rescues[rescues.length - 1];
    for (const action of actions) {
      const isUseful = action.batch === queued && (action.serviceMs <= sloMs || queued === 1);
      if (isUseful && (best === undefined || rate(action) > rate(best))) best = action;
    }
    if (best === undefined) throw new RangeError("no action for one query");
    rescues.push(best);
  }
  return rescues;
}
