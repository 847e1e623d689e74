/** Flattens the parts of a Themis bundle that are the same at every load. */
import {
  followedLevels,
  type ScaledTask,
  type ScalePlan,
  type ThemisBundle,
  type ThemisLevel,
  type ThemisPaceLevel,
  violationCeiling,
} from "../../../bundle/schema.ts";
import { assert } from "../../../core/assert.ts";
import { NONE, starts } from "../../../core/graph/pipeline-shape.ts";
import type { ReplicaShape } from "../../../core/graph/replica-shape.ts";
import { type TaskGraph, taskGraphOf } from "../../../core/graph/task-graph.ts";
import { PoolFits } from "./pool-fits.ts";

/** Cells of a row of `transitions`. */
export const TRANSITION_CELLS = 3;

/**
 * A bundle of scaled tasks as flat arrays. A variant is named by its index among those of all
 * tasks, in the order of the tasks; one that runs in several pools is several. Workers are room for
 * instances, pool by pool.
 */
export interface ThemisShape {
  readonly graph: TaskGraph;
  readonly taskCount: number;
  readonly variantCount: number;
  readonly workerCount: number;
  /** [taskCount + 1]: variants of task t are `variantStart[t]` to `variantStart[t + 1] - 1`. */
  readonly variantStart: Uint32Array;
  /** [variantCount], each. */
  readonly taskByVariant: Uint32Array;
  readonly poolByVariant: Uint32Array;
  /** Variants of each task, the fastest for one query first; ties go to the first. */
  readonly rankedByTask: readonly Uint32Array[];
  /**
   * Shape of the replica fleet: each variant is a task of its own there, in the one pool it has.
   */
  readonly replicas: ReplicaShape;
  /** Levels and pace levels; those before `baseLevelCount` are for a machine as profiled. */
  readonly levelCount: number;
  readonly baseLevelCount: number;
  /** [levelCount]: load on a machine as profiled. */
  readonly loadQpsByLevel: Float64Array;
  /**
   * Quantile of the response times at that load, [levelCount]: the share of requests that take
   * longer is the share that is allowed to be late.
   */
  readonly tailMsByLevel: Float64Array;
  /** Longest time from arrival to answer. */
  readonly sloMs: number;
  /** [levelCount, taskCount]: the variant that a plan has. */
  readonly variantByLevelTask: Uint32Array;
  /** [levelCount, variantCount], each: the plans; 0 for a variant that one does not have. */
  readonly coresByLevelVariant: Uint32Array;
  readonly batchByLevelVariant: Uint32Array;
  readonly replicasByLevelVariant: Uint32Array;
  /** [levelCount, levelCount, variantCount, 3]: batch, cores, extra instances; 0 as above. */
  readonly transitions: Uint16Array;
  /** Cores of all pools. */
  readonly coreBudget: number;
  /** The machines that these are of. */
  readonly machines: PoolFits;
  /** [variantCount]: largest batch, and most cores of one instance. */
  readonly maxBatchByTaskPool: Uint32Array;
  readonly maxCoresByVariant: Uint32Array;
  /** Time of a batch by variant, [maxCores, maxBatch]. */
  readonly latencyMsByVariant: readonly Float64Array[];
  /** [taskCount]: mean queries per request. */
  readonly scaleByTask: Float64Array;
  /** Way to every task. */
  readonly hopMs: number;
}

/** Cores that all instances may have together: a machine without stated cores has one. */
export function coreBudgetOf({ cluster }: Pick<ThemisBundle, "cluster">): number {
  return cluster.pools.reduce((sum, { workers, cores }) => sum + workers * (cores ?? 1), 0);
}

/** @throws Error if the bundle contradicts itself. */
export function themisShapeOf(bundle: ThemisBundle): ThemisShape {
  const { tasks, cluster } = bundle;
  const levels = followedLevels(bundle);
  const variants = tasks.flatMap((task) => task.variants);
  const poolByVariant = Uint32Array.from(variants, ({ pool = 0 }) => pool);
  const variantStart = starts(tasks.map((task) => task.variants.length));
  const maxBatch = Uint32Array.from(variants, ({ latency }) => latency.ms.shape[1] ?? 0);
  const plans = plansOf(levels, variantStart);
  const transitions = transitionsByVariant(bundle, levels.length, plans);
  const workers = workersByPool(bundle, levels.length, poolByVariant, plans, transitions);
  const graph = taskGraphOf(bundle);
  return {
    graph,
    taskCount: tasks.length,
    variantCount: variants.length,
    workerCount: workers.reduce((sum, count) => sum + count, 0),
    variantStart,
    taskByVariant: Uint32Array.from(tasks.flatMap((t, task) => t.variants.map(() => task))),
    poolByVariant,
    rankedByTask: tasks.map((task, index) => rankedVariants(task, variantStart[index]!)),
    replicas: replicasOf(graph, workers, poolByVariant, maxBatch, plans),
    levelCount: levels.length,
    baseLevelCount: bundle.levels.length,
    loadQpsByLevel: Float64Array.from(levels, (level) => level.loadQps * paceOf(level)),
    tailMsByLevel: Float64Array.from(levels, (level) => {
      return tailMsOf(bundle, level.steady) / paceOf(level);
    }),
    sloMs: bundle.slo.latencyMs,
    ...plans,
    transitions,
    coreBudget: coreBudgetOf(bundle),
    machines: new PoolFits(cluster),
    maxBatchByTaskPool: maxBatch,
    maxCoresByVariant: Uint32Array.from(variants, ({ latency }) => latency.ms.shape[0] ?? 0),
    latencyMsByVariant: variants.map(({ latency }) => Float64Array.from(latency.ms.data)),
    scaleByTask: Float64Array.from(tasks, ({ scaleFactor }) => scaleFactor),
    hopMs: cluster.communicationLatencyMs,
  };
}

function paceOf(level: ThemisPaceLevel | ThemisLevel): number {
  return "pace" in level ? level.pace : 1;
}

/** Percentile 99 if the ceiling allows as many violations, otherwise the longest known time. */
function tailMsOf({ slo }: Pick<ThemisBundle, "slo">, { expected }: ScalePlan): number {
  const { latencyMsP99, latencyMs } = expected;
  return violationCeiling(slo) >= 0.01 ? latencyMsP99 : (latencyMs?.max ?? latencyMsP99);
}

function rankedVariants({ variants }: ScaledTask, first: number): Uint32Array {
  const aloneMs = variants.map(({ latency }) => latency.ms.data[0] ?? Number.POSITIVE_INFINITY);
  const order = [...variants.keys()].sort((a, b) => aloneMs[a]! - aloneMs[b]! || a - b);
  return Uint32Array.from(order, (index) => first + index);
}

type Plans = Pick<
  ThemisShape,
  "variantByLevelTask" | "coresByLevelVariant" | "batchByLevelVariant" | "replicasByLevelVariant"
>;

function plansOf(levels: readonly { readonly steady: ScalePlan }[], start: Uint32Array): Plans {
  const taskCount = start.length - 1;
  const variantCount = start[taskCount]!;
  const cells = levels.length * variantCount;
  const plans: Plans = {
    variantByLevelTask: new Uint32Array(levels.length * taskCount),
    coresByLevelVariant: new Uint32Array(cells),
    batchByLevelVariant: new Uint32Array(cells),
    replicasByLevelVariant: new Uint32Array(cells),
  };
  for (const [level, { steady }] of levels.entries()) {
    assert(steady.stages.length === taskCount, "a plan has a stage for each task");
    for (const [task, { batch, cores, instances, variant = 0 }] of steady.stages.entries()) {
      const chosen = start[task]! + variant;
      assert(chosen < start[task + 1]!, "a plan has variants of its tasks");
      plans.variantByLevelTask[level * taskCount + task] = chosen;
      plans.coresByLevelVariant[level * variantCount + chosen] = cores;
      plans.batchByLevelVariant[level * variantCount + chosen] = batch;
      plans.replicasByLevelVariant[level * variantCount + chosen] = instances;
    }
  }
  return plans;
}

/** Expands the bundle's transitions, which are by task: the variants are those of the row. */
function transitionsByVariant(
  { tasks, transitions }: ThemisBundle,
  levelCount: number,
  { variantByLevelTask }: Plans,
): Uint16Array {
  const { data } = transitions;
  const taskCount = tasks.length;
  assert(data instanceof Uint16Array, "transitions are whole numbers");
  const rowCells = levelCount * taskCount * TRANSITION_CELLS;
  assert(data.length === levelCount * rowCells, "there is a transition between any two levels");
  const variantCount = tasks.reduce((sum, { variants }) => sum + variants.length, 0);
  if (variantCount === taskCount) return data;
  const cells = new Uint16Array(levelCount * levelCount * variantCount * TRANSITION_CELLS);
  for (let pair = 0; pair < levelCount * levelCount; pair++) {
    const row = Math.floor(pair / levelCount);
    for (let task = 0; task < taskCount; task++) {
      const from = (pair * taskCount + task) * TRANSITION_CELLS;
      const variant = variantByLevelTask[row * taskCount + task]!;
      const to = (pair * variantCount + variant) * TRANSITION_CELLS;
      cells.set(data.subarray(from, from + TRANSITION_CELLS), to);
    }
  }
  return cells;
}

/**
 * Returns the maximum number of simultaneous instances in each pool, those of one plan beside those
 * of another: the most of each variant, and at most the number of cores.
 */
function workersByPool(
  { cluster }: ThemisBundle,
  levelCount: number,
  poolByVariant: Uint32Array,
  { replicasByLevelVariant: replicas }: Plans,
  transitions: Uint16Array,
): number[] {
  const variantCount = poolByVariant.length;
  const places = cluster.pools.map(() => 0);
  for (let variant = 0; variant < variantCount; variant++) {
    let most = 0;
    for (let row = 0; row < levelCount; row++) {
      const planned = replicas[row * variantCount + variant]!;
      for (let column = 0; column < levelCount; column++) {
        const pair = row * levelCount + column;
        const cell = (pair * variantCount + variant) * TRANSITION_CELLS;
        most = Math.max(most, planned + transitions[cell + 2]!);
      }
    }
    places[poolByVariant[variant]!]! += most;
  }
  return places.map((count, pool) => {
    const { workers, cores } = cluster.pools[pool]!;
    return Math.min(workers * (cores ?? 1), count);
  });
}

function replicasOf(
  graph: TaskGraph,
  workers: readonly number[],
  poolByVariant: Uint32Array,
  maxBatch: Uint32Array,
  { batchByLevelVariant, replicasByLevelVariant }: Plans,
): ReplicaShape {
  const [variantCount, poolCount] = [poolByVariant.length, workers.length];
  const variantByTaskPool = new Int32Array(variantCount * poolCount).fill(NONE);
  const maxBatchByTaskPool = new Uint32Array(variantCount * poolCount);
  for (let variant = 0; variant < variantCount; variant++) {
    const cell = variant * poolCount + poolByVariant[variant]!;
    variantByTaskPool[cell] = variant;
    maxBatchByTaskPool[cell] = maxBatch[variant]!;
  }
  const cells = replicasByLevelVariant.length;
  return {
    graph,
    taskCount: variantCount,
    poolCount,
    workerCount: workers.reduce((sum, count) => sum + count, 0),
    workerStart: starts(workers),
    poolByWorker: Uint32Array.from(
      workers.flatMap((count, pool) => new Array<number>(count).fill(pool)),
    ),
    taskByVariant: Uint32Array.from({ length: variantCount }, (_, variant) => variant),
    variantByTaskPool,
    maxBatchByTaskPool,
    poolByLevelTask: Uint32Array.from({ length: cells }, (_, at) => {
      return poolByVariant[at % variantCount]!;
    }),
    batchByLevelTask: batchByLevelVariant,
    replicasByLevelTask: replicasByLevelVariant,
  };
}
