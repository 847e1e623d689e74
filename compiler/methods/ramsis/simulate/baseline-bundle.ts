/** Encodes a rule as a bundle, so that the core follows it like a policy. */

import {
  NO_ACTION,
  type RamsisBundle,
  type RamsisLevel,
  type Table,
  type Task,
} from "stratagem-runtime/internal/bundle/schema";
import { assert } from "stratagem-runtime/internal/core/assert";
import { decisionSloMs } from "stratagem-runtime/internal/core/decision-slo";
import { rowLengths } from "stratagem-runtime/internal/methods/ramsis/bundle/kind-views";

/** Decision for a state: a variant, and the maximum number of queued queries to run. */
export interface Decision {
  readonly variant: number;
  readonly batch: number;
}

/**
 * Capacity of the central queue of a load-granular baseline: seconds of work, so queries beyond it
 * would be very late.
 */
const CENTRAL_QUEUE_CAPACITY = 16_384;

/**
 * The application of a bundle under one table for every load, with the balancer and the states of
 * the bundle.
 * @param decide decision for `queued` queries, at least one, whose earliest deadline is `slackMs`
 * away.
 */
export function deadlineAwareBundle(
  bundle: RamsisBundle,
  decide: (queued: number, slackMs: number) => Decision,
): RamsisBundle {
  const { paceLevels: _, ...steady } = bundle;
  const { maxQueue, queued, slackMs } = bundle.decisionSpace;
  const top = bundle.levels.at(-1);
  assert(top !== undefined, "a bundle has a level");
  const actions = new ActionList(maxBatchOf(bundle));
  const table = tableOf(rowLengths(bundle.decisionSpace), slackMs.data, actions, decide);
  const space = { maxQueue, slackMs, ...(queued !== undefined && { queued }) };
  return {
    ...steady,
    policy: { ...bundle.policy, batching: "variable", drop: false },
    decisionSpace: { ...space, actions: actions.table() },
    levels: [unpromisedLevel(top, table)],
  };
}

/**
 * The application of a bundle under load-granular model selection: at each of its loads all workers
 * run one variant, and when free immediately take as many waiting queries from one central queue as
 * the largest batch allows. Nothing is dropped and nothing depends on deadlines. Source: RAMSIS §7,
 * the balancing of both of its baselines.
 */
export function loadGranularBundle(
  bundle: RamsisBundle,
  choose: (loadQps: number) => Decision,
): RamsisBundle {
  const maxQueue = CENTRAL_QUEUE_CAPACITY - 1;
  const grid = Float64Array.of(0, decisionSloMs(bundle.cluster, bundle.slo.latencyMs));
  const actions = new ActionList(maxBatchOf(bundle));
  const levels = bundle.levels.map((level) => {
    const { variant, batch } = choose(level.loadQps);
    const decide = (queued: number): Decision => ({ variant, batch: Math.min(queued, batch) });
    return unpromisedLevel(level, tableOf(rowLengths({ maxQueue }), grid, actions, decide));
  });
  const slackMs = { dtype: "float64", shape: [grid.length], data: grid } as const;
  const { paceLevels: _, ...steady } = bundle;
  return {
    ...steady,
    policy: {
      ...bundle.policy,
      discretization: { kind: "fixed", steps: 1 },
      batching: "variable",
      balancer: "pooled",
      drop: false,
    },
    decisionSpace: { maxQueue, slackMs, actions: actions.table() },
    levels,
  };
}

/**
 * Fallback of a load-granular baseline when nothing meets its rule: the fastest variant, in batches
 * that take no longer than the SLO.
 */
export function lastResort(bundle: RamsisBundle): Decision {
  const serviceMs = serviceMsByVariant(bundle);
  const variant = fastestVariant(serviceMs, 1);
  const sloMs = decisionSloMs(bundle.cluster, bundle.slo.latencyMs);
  const largest = largestWithin(serviceMs[variant] ?? new Float64Array(), sloMs);
  return { variant, batch: Math.max(1, largest) };
}

export function taskOf(bundle: RamsisBundle): Task {
  const task = bundle.tasks[0];
  assert(task !== undefined, "a bundle has a task");
  return task;
}

/**
 * Service times of every variant, [variant][batch − 1], each non-decreasing, up to the largest
 * batch that the policy may run on it: no larger one was profiled. A dominated variant has no
 * action, so it gets the least of these batches.
 */
export function serviceMsByVariant(bundle: RamsisBundle): readonly Float64Array[] {
  const { variants, serviceTimes } = taskOf(bundle);
  const times = Float64Array.from(serviceTimes.decisionMs.data);
  const maxBatch = serviceTimes.decisionMs.shape[1] ?? 0;
  const largest = new Map<number, number>();
  const { data } = bundle.decisionSpace.actions;
  for (let action = 0; action < data.length; action += 2) {
    const [variant = 0, batch = 0] = data.subarray(action, action + 2);
    largest.set(variant, Math.max(batch, largest.get(variant) ?? 0));
  }
  const least = Math.min(...largest.values());
  return variants.map((_, variant) => {
    const first = variant * maxBatch;
    return times.subarray(first, first + (largest.get(variant) ?? least));
  });
}

/** The variant that serves a batch soonest; ties go to the first. */
export function fastestVariant(serviceMs: readonly Float64Array[], batch: number): number {
  const msByVariant = serviceMs.map((byBatch) => byBatch[batch - 1] ?? Number.POSITIVE_INFINITY);
  return msByVariant.indexOf(Math.min(...msByVariant));
}

/**
 * The most accurate of some variants; ties go to the first.
 * @returns its index, −1 without variants.
 */
export function mostAccurate(
  { variants }: Task,
  isCandidate: (variant: number) => boolean,
): number {
  let best = -1;
  for (const [variant, { accuracy }] of variants.entries()) {
    if (isCandidate(variant) && accuracy > (variants[best]?.accuracy ?? -1)) best = variant;
  }
  return best;
}

/**
 * Largest batch that takes at most `limitMs`; 0 if there is no such batch.
 * @param serviceMs by batch size less one, non-decreasing.
 */
export function largestWithin(serviceMs: Float64Array, limitMs: number): number {
  return serviceMs.filter((ms) => ms <= limitMs).length;
}

function maxBatchOf(bundle: RamsisBundle): number {
  return taskOf(bundle).serviceTimes.decisionMs.shape[1] ?? 0;
}

/** The actions that the tables of a bundle name, in the order of first use. */
class ActionList {
  readonly #maxBatch: number;
  readonly #indexByDecision = new Map<number, number>();
  readonly #pairs: number[] = [];

  constructor(maxBatch: number) {
    this.#maxBatch = maxBatch;
  }

  indexOf({ variant, batch }: Decision): number {
    assert(batch >= 1 && batch <= this.#maxBatch, "a batch is profiled");
    const decision = variant * this.#maxBatch + batch;
    const known = this.#indexByDecision.get(decision);
    if (known !== undefined) return known;
    const index = this.#indexByDecision.size;
    assert(index < NO_ACTION, "a cell can name every action");
    this.#indexByDecision.set(decision, index);
    this.#pairs.push(variant, batch);
    return index;
  }

  table(): Table {
    const data = Uint16Array.from(this.#pairs);
    return { dtype: "uint16", shape: [data.length / 2, 2], data };
  }
}

/** @param rows lengths of the queue that have a row, ascending from 1. */
function tableOf(
  rows: ArrayLike<number>,
  slackMs: ArrayLike<number>,
  actions: ActionList,
  decide: (queued: number, slackMs: number) => Decision,
): Table {
  const columns = slackMs.length;
  const data = new Uint16Array(rows.length * columns);
  for (let cell = 0; cell < data.length; cell++) {
    const queued = rows[Math.floor(cell / columns)] ?? 1;
    const decision = decide(queued, slackMs[cell % columns] ?? Number.NaN);
    assert(decision.batch <= queued, "a batch is queued");
    data[cell] = actions.indexOf(decision);
  }
  return { dtype: "uint16", shape: [rows.length, columns], data };
}

/** The level with a table that promises nothing; drops the figures of the original level. */
function unpromisedLevel(level: RamsisLevel, actionByState: Table): RamsisLevel {
  return {
    ...level,
    feasible: false,
    expected: {
      ...level.expected,
      accuracyPerSatisfied: 0,
      accuracyPerQuery: 0,
      violationRate: 1,
      byBatch: { accuracy: { median: 0, p99: 0 }, violationRate: { median: 1, p99: 1 } },
    },
    solve: { ...level.solve, method: "baseline", iterations: 0, residual: 0, states: 0 },
    actionByState,
    mixture: null,
  };
}
