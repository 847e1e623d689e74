/**
 * A scaling problem as data: which batches, cores and instances each task of a pipeline may have,
 * at one load.
 */

export interface ScalingProblem {
  /** Requests per second, above 0. */
  readonly loadQps: number;
  /** Longest end-to-end latency, ms; itself allowed. */
  readonly sloMs: number;
  /** Way to every task, ms. */
  readonly hopMs: number;
  /** Parents before their children. */
  readonly stages: readonly ScalingTask[];
}

export interface ScalingTask {
  /** Indices of the tasks whose answers this one waits for; empty where requests come in. */
  readonly parents: readonly number[];
  /** Mean queries per request. */
  readonly scale: number;
  /** Mean queries that come at one time, made of one row by a fan-out; 1 if left out. */
  readonly group?: number;
  /** What a core costs, a whole number; 1 if left out, where all cores cost the same. */
  readonly coreCost?: number;
  readonly maxBatch: number;
  readonly maxCores: number;
  /**
   * float64 [maxCores, maxBatch]: latency in ms of batch b on c cores at
   * `(c - 1) * maxBatch + b - 1`; Infinity where it may not run so.
   */
  readonly latencyMs: Float64Array;
}

/** How one task runs: `instances` of `cores` each, in batches of up to `batch`. */
export interface TaskScale {
  readonly batch: number;
  readonly cores: number;
  readonly instances: number;
}

/** A feasible answer. */
export interface ScalingPlan {
  /** Of all instances: sum of cores times instances. */
  readonly cores: number;
  /** The same, each core at what it costs: what plans have least of. */
  readonly cost: number;
  /** Of the longest path: processing, queueing and hops, ms. */
  readonly latencyMs: number;
  /** In the order of the tasks. */
  readonly stages: readonly TaskScale[];
}

/**
 * Why there is none: the task whose latency alone takes the largest part of the SLO, and the least
 * end-to-end latency that there is.
 */
export interface NoScalingPlan {
  readonly bindingStage: number;
  /** Infinity where the task cannot carry the load at all. */
  readonly leastLatencyMs: number;
}

export function isPlan(answer: ScalingPlan | NoScalingPlan): answer is ScalingPlan {
  return "cores" in answer;
}
