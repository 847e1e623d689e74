/** Tasks as an estimator sees them: batch service times on each kind of hardware. */
import type { TaskGraph } from "stratagem-runtime/internal/core/graph/task-graph";

export interface ServedTasks {
  readonly graph: TaskGraph;
  /** Per task, in task order: the hardware that it can run on. */
  readonly stages: readonly { readonly hardware: readonly BatchTimes[] }[];
  /** Communication latency before every task. */
  readonly hopMs: number;
  /** Ratio of requests that may miss the SLO. */
  readonly violationCeiling: number;
}

export interface BatchTimes {
  /** Service time of a batch of b at index b − 1, up to the largest batch; non-decreasing. */
  readonly batchMs: Float64Array;
}

export interface TaskConfiguration {
  /** Index into the task's hardware. */
  readonly hardware: number;
  readonly batch: number;
  readonly replicas: number;
}

export type Configuration = readonly TaskConfiguration[];

/**
 * Returns how many requests of a trace may miss the SLO: those above the nearest rank of the
 * percentile.
 */
export function allowedMisses(requestCount: number, violationCeiling: number): number {
  // Rounding may put a product such as 0.99 · 100 slightly above the integer.
  return requestCount - Math.ceil((1 - violationCeiling) * requestCount - 1e-9);
}

/** Service time of a batch of one, ms. */
export function aloneMs({ batchMs }: BatchTimes): number {
  return batchMs[0] ?? Number.POSITIVE_INFINITY;
}
