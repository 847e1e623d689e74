/** Flattens the parts of a bundle with replicas that are the same at every load. */
import type { InferlineBundle } from "../../bundle/schema.ts";
import { assert } from "../assert.ts";
import { NONE, starts } from "./pipeline-shape.ts";
import { type TaskGraph, taskGraphOf } from "./task-graph.ts";

/**
 * A bundle of provisioned tasks as flat arrays. A variant is named by its index among those of all
 * tasks, in the order of the tasks.
 */
export interface ReplicaShape {
  readonly graph: TaskGraph;
  readonly taskCount: number;
  readonly poolCount: number;
  readonly workerCount: number;
  /** [poolCount + 1]: workers of pool p are `workerStart[p]` to `workerStart[p + 1] - 1`. */
  readonly workerStart: Uint32Array;
  /** [workerCount] */
  readonly poolByWorker: Uint32Array;
  readonly taskByVariant: Uint32Array;
  /** [taskCount, poolCount]: the variant that a task runs in a pool, NONE where it cannot. */
  readonly variantByTaskPool: Int32Array;
  /** [taskCount, poolCount]: largest profiled batch, 0 where it cannot run. */
  readonly maxBatchByTaskPool: Uint32Array;
  /** [levelCount, taskCount], each: the plans. */
  readonly poolByLevelTask: Uint32Array;
  readonly batchByLevelTask: Uint32Array;
  readonly replicasByLevelTask: Uint32Array;
}

/**
 * Counts the names of queries beside those that wait: running ones, and those of a batch whose
 * outputs are being handed in.
 */
export function busyNames({
  workerCount,
  maxBatchByTaskPool,
}: Pick<ReplicaShape, "workerCount" | "maxBatchByTaskPool">): number {
  return (workerCount + 1) * Math.max(...maxBatchByTaskPool);
}

/** @throws Error if the bundle contradicts itself. */
export function replicaShapeOf(bundle: InferlineBundle): ReplicaShape {
  const { tasks, cluster, levels } = bundle;
  const { pools } = cluster;
  const variantStart = starts(tasks.map(({ variants }) => variants.length));
  const cells = tasks.flatMap(({ variants }, task) =>
    pools.map((_, pool) => {
      const runs = variants.map(({ profiles }) => profiles[pool] ?? null);
      const variant = runs.findIndex((profile) => profile !== null);
      if (variant < 0) return { variant: NONE, maxBatch: 0 };
      const maxBatch = runs[variant]!.serviceTimes.decisionMs.data.length;
      return { variant: variantStart[task]! + variant, maxBatch };
    }),
  );
  const stages = levels.flatMap(({ plan }) => plan.stages);
  assert(stages.length === levels.length * tasks.length, "a plan has a stage for each task");
  for (const [index, { pool, variant, batch, replicas }] of stages.entries()) {
    const task = index % tasks.length;
    const cell = cells[task * pools.length + pool];
    assert(cell?.variant === variantStart[task]! + variant, "a stage runs where its variant can");
    assert(batch >= 1 && batch <= cell.maxBatch, "a planned batch was profiled");
    assert(replicas >= 1, "a stage has a replica");
  }
  const workers = pools.map((pool) => pool.workers);
  return {
    graph: taskGraphOf(bundle),
    taskCount: tasks.length,
    poolCount: pools.length,
    workerCount: workers.reduce((total, count) => total + count, 0),
    workerStart: starts(workers),
    poolByWorker: Uint32Array.from(
      workers.flatMap((count, pool) => new Array<number>(count).fill(pool)),
    ),
    taskByVariant: Uint32Array.from(tasks.flatMap((t, task) => t.variants.map(() => task))),
    variantByTaskPool: Int32Array.from(cells, ({ variant }) => variant),
    maxBatchByTaskPool: Uint32Array.from(cells, ({ maxBatch }) => maxBatch),
    poolByLevelTask: Uint32Array.from(stages, ({ pool }) => pool),
    batchByLevelTask: Uint32Array.from(stages, ({ batch }) => batch),
    replicasByLevelTask: Uint32Array.from(stages, ({ replicas }) => replicas),
  };
}
