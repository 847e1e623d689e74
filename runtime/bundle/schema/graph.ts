/** What the bundles of several pipelines have: stages, edges, feeds and profiles by pool. */
import type { ModelFile, ProfileReference, ServiceTimes, Table } from "./common.ts";

/**
 * Which outputs of a task are the inputs of the next. A row of the parent becomes as many queries
 * as `count` says.
 */
export interface Feed {
  readonly inputs: readonly { readonly input: string; readonly output: string }[];
  /**
   * Output of the parent with the number of rows of the child for each of its rows; null where
   * there is one each.
   */
  readonly count: string | null;
}

/** What was measured of a variant on the hardware of a pool. */
export interface PoolProfile {
  readonly profile: ProfileReference;
  /** uint16 [rowCount]: the batch sizes that were measured, ascending. Plans choose among them. */
  readonly batches: Table;
  /** float64 [rowCount]: their latencies as they are. */
  readonly latencyMs: Table;
  /** Of every batch size up to the largest, for a single variant. */
  readonly serviceTimes: ServiceTimes;
}

/** Independent: every edge is taken or not by a chance of its own. Exclusive: at most one is. */
export type Branch = "independent" | "exclusive";

export interface StageTask {
  readonly name: string;
  /**
   * Edges that lead here, by ascending parent; an entry has one, from the requests. A task with
   * several is a join.
   */
  readonly edges: readonly StageEdge[];
  /** How a query of this task chooses among the edges that lead away. */
  readonly branch: Branch;
  /** The same model for different hardware: at most one variant has a profile for a pool. */
  readonly variants: readonly StageVariant[];
}

export interface StageEdge {
  /** Index of the task before; null from the requests. */
  readonly parent: number | null;
  /** Probability that a query of the task before, or a request, takes the edge. */
  readonly share: number;
  /** How tensors come here; null for an entry, or where no model is served. */
  readonly feed: Feed | null;
  /**
   * Mean rows that a query sends along the edge if it takes it, each a query of this task. Left out
   * where it sends itself on, once at most.
   */
  readonly fanout?: number;
  /**
   * Joins the rows that an earlier fan-out made of one row: all of them are one query here, or each
   * so many in their order. Left out where rows stay what they are.
   */
  readonly gather?: "all" | number;
}

export interface StageVariant {
  readonly name: string;
  /** Measured accuracy on what reaches the task, 0..1. */
  readonly accuracy: number;
  readonly model: ModelFile | null;
  /**
   * In the order of the pools; null where the variant cannot run. `serviceTimes` is what batches of
   * any size take: non-decreasing, with no interpolation unless the policy asks for it.
   */
  readonly profiles: readonly (PoolProfile | null)[];
}
