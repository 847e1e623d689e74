/**
 * Fields that the bundles of several pipeline methods have: stages, edges, feeds and profiles by
 * pool.
 */
import type { ModelFile, ProfileReference, ServiceTimes, Table } from "./common.ts";

/**
 * Outputs of a task that are inputs of the next, and inputs of the task that it passes on. `count`
 * gives the number of queries per row of the parent.
 */
export interface Feed {
  readonly inputs: readonly { readonly input: string; readonly output: string }[];
  /** Inputs that the parent was given and passes on. Left out if it passes on nothing. */
  readonly passed?: readonly { readonly input: string; readonly parentInput: string }[];
  /**
   * Output of the parent with the number of rows of the child for each of its rows; null for one
   * each.
   */
  readonly count: string | null;
}

/** Measurements of a variant on the hardware of a pool. */
export interface PoolProfile {
  readonly profile: ProfileReference;
  /** uint16 [rowCount]: the measured batch sizes, ascending. Plans choose among them. */
  readonly batches: Table;
  /** float64 [rowCount]: their latencies as measured. */
  readonly latencyMs: Table;
  /** Times of every batch size up to the largest, for a single variant. */
  readonly serviceTimes: ServiceTimes;
}

/**
 * Independent: every edge is taken with a probability of its own. Exclusive: at most one is taken.
 */
export type Branch = "independent" | "exclusive";

export interface StageTask {
  readonly name: string;
  /**
   * Edges that lead here, by ascending parent; an entry has one, from the requests. A task with
   * several is a join.
   */
  readonly edges: readonly StageEdge[];
  /** How a query of this task chooses among its outgoing edges. */
  readonly branch: Branch;
  /** The same model for different hardware: at most one variant has a profile for a pool. */
  readonly variants: readonly StageVariant[];
}

export interface StageEdge {
  /** Index of the previous task; null for the requests. */
  readonly parent: number | null;
  /** Probability that a query of the previous task, or a request, takes the edge. */
  readonly share: number;
  /** Source of the tensors; null for an entry, or if no model is served. */
  readonly feed: Feed | null;
  /**
   * Mean rows that a query sends along the edge if it takes it, each a query of this task. Left out
   * if it passes itself on, at most once.
   */
  readonly fanout?: number;
  /**
   * Joins the rows that an earlier fan-out made of one row: all of them become one query here, or
   * every so many in their order. Left out if rows stay separate.
   */
  readonly gather?: "all" | number;
}

export interface StageVariant {
  readonly name: string;
  /** Measured accuracy on the queries that reach the task, 0..1. */
  readonly accuracy: number;
  readonly model: ModelFile | null;
  /**
   * In the order of the pools; null if the variant cannot run there. `serviceTimes` has the times
   * of batches of any size: non-decreasing, without interpolation unless the policy asks for it.
   */
  readonly profiles: readonly (PoolProfile | null)[];
}
