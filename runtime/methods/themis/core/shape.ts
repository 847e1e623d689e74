/** Flattens what is the same at every load of a Themis bundle. */
import type { ThemisBundle } from "../../../bundle/schema.ts";
import { assert } from "../../../core/assert.ts";
import { starts } from "../../../core/graph/pipeline-shape.ts";
import type { ReplicaShape } from "../../../core/graph/replica-shape.ts";
import { taskGraphOf } from "../../../core/graph/task-graph.ts";
import { MachineFit } from "./machine-fit.ts";

/** Cells of a row of `transitions`. */
export const TRANSITION_CELLS = 3;

/** A bundle of scaled tasks as flat arrays. Workers are room for instances, all in one pool. */
export interface ThemisShape extends ReplicaShape {
  readonly levelCount: number;
  /** [levelCount] */
  readonly loadQpsByLevel: Float64Array;
  /**
   * [levelCount, taskCount]: cores of an instance by the plans, beside `batchByLevelTask` and
   * `replicasByLevelTask`.
   */
  readonly coresByLevelTask: Uint32Array;
  /** [levelCount, levelCount, taskCount, 3]: batch, cores, extra instances. */
  readonly transitions: Uint16Array;
  /** Cores of the pool. */
  readonly coreBudget: number;
  /** The machines that these are of. */
  readonly machines: MachineFit;
  /** [taskCount]: most cores of one instance. */
  readonly maxCoresByTask: Uint32Array;
  /** By task, [maxCores, maxBatch]: what a batch takes. */
  readonly latencyMsByTask: readonly Float64Array[];
  /** Way to every task. */
  readonly hopMs: number;
}

/** Cores that all instances may have together: a machine without stated cores has one. */
export function coreBudgetOf({ cluster }: Pick<ThemisBundle, "cluster">): number {
  return cluster.pools.reduce((sum, { workers, cores }) => sum + workers * (cores ?? 1), 0);
}

/** @throws Error if the bundle contradicts itself. */
export function themisShapeOf(bundle: ThemisBundle): ThemisShape {
  const { tasks, levels } = bundle;
  const { data: transitions } = bundle.transitions;
  assert(transitions instanceof Uint16Array, "transitions are whole numbers");
  const taskCount = tasks.length;
  const stages = levels.flatMap(({ steady }) => steady.stages);
  assert(stages.length === levels.length * taskCount, "a plan has a stage for each task");
  const cells = levels.length * levels.length * taskCount * TRANSITION_CELLS;
  assert(transitions.length === cells, "there is a transition between any two levels");
  const coreBudget = coreBudgetOf(bundle);
  const replicas = Uint32Array.from(stages, ({ instances }) => instances);
  const workerCount = Math.min(
    coreBudget,
    placesOf(taskCount, levels.length, replicas, transitions),
  );
  const maxBatch = Uint32Array.from(tasks, ({ variants }) => variants[0]?.latency.ms.shape[1] ?? 0);
  return {
    graph: taskGraphOf(bundle),
    taskCount,
    poolCount: 1,
    workerCount,
    workerStart: starts([workerCount]),
    poolByWorker: new Uint32Array(workerCount),
    taskByVariant: Uint32Array.from(tasks, (_, task) => task),
    variantByTaskPool: Int32Array.from(tasks, (_, task) => task),
    maxBatchByTaskPool: maxBatch,
    poolByLevelTask: new Uint32Array(stages.length),
    batchByLevelTask: Uint32Array.from(stages, ({ batch }) => batch),
    replicasByLevelTask: replicas,
    levelCount: levels.length,
    loadQpsByLevel: Float64Array.from(levels, ({ loadQps }) => loadQps),
    coresByLevelTask: Uint32Array.from(stages, ({ cores }) => cores),
    transitions,
    coreBudget,
    machines: new MachineFit(bundle),
    maxCoresByTask: Uint32Array.from(
      tasks,
      ({ variants }) => variants[0]?.latency.ms.shape[0] ?? 0,
    ),
    latencyMsByTask: tasks.map(({ variants }) => {
      return Float64Array.from(variants[0]?.latency.ms.data ?? []);
    }),
    hopMs: bundle.cluster.communicationLatencyMs,
  };
}

/**
 * Instances that there can be at a time, those of one plan beside those of another: the most of
 * each task.
 */
function placesOf(
  taskCount: number,
  levelCount: number,
  replicas: Uint32Array,
  transitions: Uint16Array,
): number {
  let places = 0;
  for (let task = 0; task < taskCount; task++) {
    let most = 0;
    for (let row = 0; row < levelCount; row++) {
      const planned = replicas[row * taskCount + task]!;
      for (let column = 0; column < levelCount; column++) {
        const cell = ((row * levelCount + column) * taskCount + task) * TRANSITION_CELLS;
        most = Math.max(most, planned + transitions[cell + 2]!);
      }
    }
    places += most;
  }
  return places;
}
