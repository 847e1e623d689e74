/** Tasks as an estimator sees them: what a batch takes, on each thing that a task can run on. */
import type { TaskGraph } from "stratagem-runtime/internal/core/graph/task-graph";

export interface ServedTasks {
  readonly graph: TaskGraph;
  /** In the order of the tasks: what each can run on. */
  readonly stages: readonly { readonly hardware: readonly BatchTimes[] }[];
  /** Communication latency on the way to every task. */
  readonly hopMs: number;
  /** Ratio of requests that may miss the SLO. */
  readonly violationCeiling: number;
}

export interface BatchTimes {
  /** The time of a batch of b lies at b − 1, up to the largest batch; non-decreasing. */
  readonly batchMs: Float64Array;
}

/** How one task runs. */
export interface TaskConfiguration {
  /** Index into what it can run on. */
  readonly hardware: number;
  /** Largest batch. */
  readonly batch: number;
  readonly replicas: number;
}

/** One for each task. */
export type Configuration = readonly TaskConfiguration[];

/**
 * Requests of a trace that may miss the SLO: what is left beside the nearest rank of the
 * percentile.
 */
export function allowedMisses(requestCount: number, violationCeiling: number): number {
  // A product such as 0.99 · 100 may come out a little above the whole number.
  return requestCount - Math.ceil((1 - violationCeiling) * requestCount - 1e-9);
}

/** Service time of a batch of one, ms. */
export function aloneMs({ batchMs }: BatchTimes): number {
  return batchMs[0] ?? Number.POSITIVE_INFINITY;
}
