/** The decision problem of a cluster whose workers share one queue, as data. */
import type { RamsisBundle } from "../../../../runtime/bundle/schema.ts";

export interface PooledAction {
  /** Index in the actions of the decision space. */
  readonly index: number;
  readonly variant: number;
  readonly batch: number;
  readonly serviceMs: number;
  readonly accuracy: number;
}

export interface PooledProblem {
  readonly workerCount: number;
  readonly loadQps: number;
  readonly sloMs: number;
  /** Queries the queue holds at most, which is the number of rows of the table. */
  readonly capacity: number;
  /** Ascending from 0 to the SLO, shape (slackCount,). */
  readonly slackMs: Float64Array;
  /** By index in the decision space. */
  readonly actions: readonly PooledAction[];
  /** For each batch size the variants worth choosing: the more accurate the slower. They finish within the SLO. */
  readonly choices: readonly PooledAction[];
  /** Most accuracy that a ms of a worker can be turned into. */
  readonly bestUsePerMs: number;
  /** Most queries that a worker can serve per ms. */
  readonly bestRatePerMs: number;
  /** For each number of queries (less one) that are late already the batch that gets rid of the most of them per time; up to the largest batch. */
  readonly rescues: readonly PooledAction[];
  /** Whether queries that are given up are dropped instead of served late. */
  readonly drops: boolean;
  /** With less slack a query is dropped, whatever the table says; minus infinity if none is dropped. */
  readonly leastSlackMs: number;
  /** Most violations per query that the policy may have. */
  readonly maxViolationRate: number;
}

/** Pooled policies violate no more than this, whatever the percentile of the SLO leaves: it costs them next to no accuracy. */
const USUAL_MAX_VIOLATION_RATE = 1e-3;

export function pooledProblem(
  frame: Pick<RamsisBundle, "slo" | "cluster" | "tasks" | "decisionSpace" | "policy">,
  loadQps: number,
): PooledProblem {
  const { slo, cluster, tasks, decisionSpace, policy } = frame;
  const [task] = tasks;
  if (task === undefined) throw new RangeError("a RAMSIS frame has one task");
  const { decisionMs } = task.serviceTimes;
  const maxBatch = decisionMs.shape[1] ?? 0;
  const pairs = decisionSpace.actions.data;
  const actions = Array.from({ length: pairs.length / 2 }, (_, index): PooledAction => {
    const [variant = 0, batch = 0] = pairs.subarray(2 * index, 2 * index + 2);
    const serviceMs = decisionMs.data[variant * maxBatch + batch - 1] ?? Number.NaN;
    const accuracy = task.variants[variant]?.accuracy ?? 0;
    return { index, variant, batch, serviceMs, accuracy };
  });
  const capacity = decisionSpace.maxQueue + 1;
  const sloMs = slo.latencyMs;
  const fastestMs = Math.min(
    ...task.variants.map((_, variant) => decisionMs.data[variant * maxBatch] ?? Number.NaN),
  );
  const choices = choicesOf(actions, sloMs);
  const uses = choices.map(({ accuracy, batch, serviceMs }) => (accuracy * batch) / serviceMs);
  return {
    workerCount: cluster.pools.reduce((sum, pool) => sum + pool.workers, 0),
    loadQps,
    sloMs,
    capacity,
    slackMs: Float64Array.from(decisionSpace.slackMs.data),
    actions,
    choices,
    bestUsePerMs: Math.max(0, ...uses),
    bestRatePerMs: Math.max(0, ...choices.map(({ batch, serviceMs }) => batch / serviceMs)),
    rescues: rescuesOf(actions, sloMs, maxBatch),
    drops: policy.drop,
    leastSlackMs: policy.drop ? fastestMs : Number.NEGATIVE_INFINITY,
    maxViolationRate: Math.min(slo.maxViolationRate ?? 1, USUAL_MAX_VIOLATION_RATE),
  };
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

/** As the runtime's dispatcher has them. */
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
    if (best === undefined) throw new RangeError("there is an action for one query");
    rescues.push(best);
  }
  return rescues;
}
