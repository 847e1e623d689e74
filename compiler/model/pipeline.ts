/**
 * A pipeline of tasks as a decision problem: which variants to run, in what batches, on how many
 * servers of which pool, and what share of the requests takes which path. Plain data; source: Loki
 * §4.1.
 *
 * The tasks are a forest: a task that only passes requests on is left out, and its children become
 * entries or children of the task before it.
 */

export interface PipelineProblem {
  /** Parents before their children. */
  readonly tasks: readonly PipelineTask[];
  /** Servers of each pool. */
  readonly servers: readonly number[];
  /** In the order of the tasks without children. */
  readonly leaves: readonly Leaf[];
  /** Whether all servers of a variant in a pool use one batch size, as in the paper. */
  readonly oneBatchPerVariant: boolean;
}

export interface PipelineTask {
  readonly name: string;
  /** Index of the task whose outputs are this task's queries; null for an entry. */
  readonly parent: number | null;
  /** Indices of the next tasks. */
  readonly children: readonly number[];
  /**
   * Mean queries that reach an entry task per request; 1 for any other task, whose share is part of
   * the fan-outs.
   */
  readonly entryShare: number;
  readonly variants: readonly PipelineVariant[];
}

interface PipelineVariant {
  readonly name: string;
  /** Accuracy of the variant alone, in [0, 1]. */
  readonly accuracy: number;
  /**
   * Mean queries sent to each child of the task per query served, in the order of `children`; edge
   * shares included.
   */
  readonly fanouts: readonly number[];
  /** Possible settings of a server in a pool; at least one. */
  readonly configurations: readonly Configuration[];
}

export interface Configuration {
  readonly pool: number;
  readonly batch: number;
  /** Profiled latency of a whole batch, ms. */
  readonly latencyMs: number;
  /** Queries per second of one server, 1000 · batch / latencyMs. */
  readonly throughputQps: number;
}

export interface Leaf {
  /** Index of the task. */
  readonly task: number;
  /** Weight of this leaf's accuracy in the objective; the weights of all leaves sum to 1. */
  readonly weight: number;
  /** The tasks from an entry to the leaf. */
  readonly path: readonly number[];
  /**
   * Upper bound on the sum of execution times along the path, ms: its part of the SLO, less the
   * hops.
   */
  readonly latencyLimitMs: number;
  /**
   * End-to-end accuracy by the variants of the path's tasks, row-major with the first task slowest;
   * null for the product of the variants' accuracies.
   */
  readonly accuracyByPath: Float64Array | null;
}

/**
 * Returns the end-to-end accuracy of a path to a leaf.
 * @param variants one for each task of the path.
 */
export function pathAccuracy(
  { tasks }: PipelineProblem,
  { path, accuracyByPath }: Leaf,
  variants: readonly number[],
): number {
  let product = 1;
  let row = 0;
  for (const [at, task] of path.entries()) {
    const own = tasks[task]?.variants ?? [];
    const variant = variants[at] ?? 0;
    product *= own[variant]?.accuracy ?? Number.NaN;
    row = row * own.length + variant;
  }
  return accuracyByPath === null ? product : (accuracyByPath[row] ?? Number.NaN);
}

/** A set of servers that run one variant with one batch size. */
export interface Instance {
  readonly task: number;
  readonly variant: number;
  /** Index into the variant's configurations. */
  readonly configuration: number;
  /** At least 1. */
  readonly replicas: number;
}

/** One step of a path that requests take. */
export interface PathNode {
  /** Index of the node before, which comes earlier in the list; null at an entry task. */
  readonly parent: number | null;
  /** Index of the instance that serves it. */
  readonly instance: number;
  /** Share of all requests that take the path up to this node; the nodes of one task sum to 1. */
  readonly ratio: number;
}

export interface PipelinePlan {
  readonly instances: readonly Instance[];
  readonly nodes: readonly PathNode[];
  /** Weighted mean over leaves of the accuracy of their paths, in [0, 1]. */
  readonly accuracy: number;
  readonly servers: number;
}
