/**
 * A scaling problem as data: possible batches, cores and instances of each task of a pipeline, at
 * one load.
 */

export interface ScalingProblem {
  /** Requests per second, above 0. */
  readonly loadQps: number;
  /** Longest allowed end-to-end latency, ms. */
  readonly sloMs: number;
  /** Hop to every task, ms. */
  readonly hopMs: number;
  /** Parents before their children. */
  readonly stages: readonly ScalingTask[];
}

export interface ScalingTask {
  /** Indices of the tasks whose answers this one waits for; empty for an entry. */
  readonly parents: readonly number[];
  /** Mean queries per request. */
  readonly scale: number;
  /** Mean queries that arrive at once, made of one row by a fan-out; default: 1. */
  readonly group?: number;
  /** Cost of a core, an integer; default: 1, if all cores cost the same. */
  readonly coreCost?: number;
  readonly maxBatch: number;
  readonly maxCores: number;
  /**
   * float64 [maxCores, maxBatch]: latency in ms of batch b on c cores at `(c - 1) * maxBatch + b -
   * 1`; Infinity for disallowed options.
   */
  readonly latencyMs: Float64Array;
}

/** Configuration of one task: `instances` of `cores` each, in batches of up to `batch`. */
export interface TaskScale {
  readonly batch: number;
  readonly cores: number;
  readonly instances: number;
}

/** A feasible answer. */
export interface ScalingPlan {
  /** Cores of all instances: sum of cores times instances. */
  readonly cores: number;
  /** Cost of these cores, which plans minimise. */
  readonly cost: number;
  /** Latency of the longest path: processing, queueing and hops, ms. */
  readonly latencyMs: number;
  /** In the order of the tasks. */
  readonly stages: readonly TaskScale[];
}

/**
 * Reason without a plan: the task whose latency alone takes the largest part of the SLO, and the
 * least end-to-end latency.
 */
export interface NoScalingPlan {
  readonly bindingStage: number;
  /** Infinity if the task cannot carry the load at all. */
  readonly leastLatencyMs: number;
}

export function isPlan(answer: ScalingPlan | NoScalingPlan): answer is ScalingPlan {
  return "cores" in answer;
}
