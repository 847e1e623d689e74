/** Flattens the parts of a Loki bundle that are the same at every load. */
import type { LokiBundle, PipelineTask } from "../../bundle/schema.ts";
import { assert } from "../assert.ts";
import { beatMsOf } from "../beat.ts";

/** Stands for "no index". */
export const NONE = -1;

/**
 * Parts of a bundle that are the same at every load, as flat arrays: tasks, variants and times.
 *
 * A child is named by its ordinal among the children of its parent, an entry task by its ordinal
 * among the entries; a variant by its index among those of all tasks, in the order of the tasks.
 */
export interface PipelineShape {
  readonly taskCount: number;
  readonly variantCount: number;
  readonly poolCount: number;
  readonly workerCount: number;
  /** See `beatMsOf`. */
  readonly beatMs: number;
  /** [taskCount], NONE for an entry. */
  readonly parentByTask: Int32Array;
  /** [taskCount] */
  readonly ordinalByTask: Uint32Array;
  /** Children of task t: `childTask[childStart[t]]` to `childTask[childStart[t + 1] - 1]`. */
  readonly childStart: Uint32Array;
  readonly childTask: Uint32Array;
  readonly entryTasks: Uint32Array;
  /** [taskCount] */
  readonly entryShareByTask: Float64Array;
  /** [taskCount + 1] */
  readonly variantStart: Uint32Array;
  readonly taskByVariant: Uint32Array;
  readonly accuracyByVariant: Float64Array;
  /** Mean children of a query: of variant v for its task's child c at `fanoutStart[v] + c`. */
  readonly fanoutStart: Uint32Array;
  readonly fanout: Float64Array;
  /**
   * Service time of a batch b of variant v on pool p:
   * `serviceMs[serviceStart[v * poolCount + p] + b - 1]`, up to `maxBatch` of both.
   */
  readonly serviceStart: Uint32Array;
  readonly serviceMs: Float64Array;
  readonly maxBatch: Uint32Array;
  /**
   * Least time of a query after its task, on the fastest variants and alone in its batches,
   * [taskCount].
   */
  readonly fastestRestMs: Float64Array;
  /** Least time of a query from its start at the task, [taskCount]. */
  readonly fastestFromMs: Float64Array;
  /** Communication latency on the way to a server. */
  readonly hopMs: number;
  /** [workerCount] */
  readonly poolByWorker: Uint32Array;
}

/**
 * Counts the names of queries beside those that wait: running ones, and those of a batch whose
 * outputs are being handed in.
 */
export function busyNames({ workerCount, maxBatch }: PipelineShape): number {
  return (workerCount + 1) * Math.max(...maxBatch);
}

export function pipelineShapeOf(bundle: LokiBundle): PipelineShape {
  const { tasks, cluster, slo } = bundle;
  const variants = tasks.flatMap((task) => task.variants);
  const poolCount = cluster.pools.length;
  const children = tasks.map((_, parent) =>
    tasks.flatMap((task, index) => (task.parent === parent ? [index] : [])),
  );
  const entries = tasks.flatMap((task, index) => (task.parent === null ? [index] : []));
  const profiles = variants.flatMap((variant) => variant.profiles);
  const services = profiles.map((profile) => profile?.serviceTimes.decisionMs.data ?? []);
  const variantStart = starts(tasks.map((task) => task.variants.length));
  const serviceStart = starts(services.map(({ length }) => length));
  const serviceMs = Float64Array.from(services.flatMap((data) => [...data]));
  const parentByTask = Int32Array.from(tasks, ({ parent }) => parent ?? NONE);
  for (const [task, parent] of parentByTask.entries()) {
    assert(parent < task, "a task comes after its parent");
  }
  return {
    taskCount: tasks.length,
    variantCount: variants.length,
    poolCount,
    workerCount: cluster.pools.reduce((total, { workers }) => total + workers, 0),
    beatMs: beatMsOf(slo),
    parentByTask,
    ordinalByTask: Uint32Array.from(tasks, ({ parent }, task) =>
      (parent === null ? entries : children[parent]!).indexOf(task),
    ),
    childStart: starts(children.map(({ length }) => length)),
    childTask: Uint32Array.from(children.flat()),
    entryTasks: Uint32Array.from(entries),
    entryShareByTask: Float64Array.from(tasks, ({ entryShare }) => entryShare),
    variantStart,
    taskByVariant: Uint32Array.from(tasks.flatMap((t, task) => t.variants.map(() => task))),
    accuracyByVariant: Float64Array.from(variants, ({ accuracy }) => accuracy),
    fanoutStart: starts(variants.map(({ fanouts }) => fanouts.length)),
    fanout: Float64Array.from(variants.flatMap(({ fanouts }) => fanouts)),
    serviceStart,
    serviceMs,
    maxBatch: Uint32Array.from(services, ({ length }) => length),
    ...fastest(tasks, children, cluster.communicationLatencyMs),
    hopMs: cluster.communicationLatencyMs,
    poolByWorker: Uint32Array.from(
      cluster.pools.flatMap(({ workers }, pool) => Array<number>(workers).fill(pool)),
    ),
  };
}

/** Counts only children that every query has: one that is not reached takes no time. */
function fastest(
  tasks: readonly PipelineTask[],
  children: readonly (readonly number[])[],
  hopMs: number,
): Pick<PipelineShape, "fastestRestMs" | "fastestFromMs"> {
  const fastestRestMs = new Float64Array(tasks.length);
  const fastestFromMs = new Float64Array(tasks.length);
  for (let task = tasks.length - 1; task >= 0; task--) {
    const { variants } = tasks[task]!;
    for (const [ordinal, child] of children[task]!.entries()) {
      if (variants.some(({ fanouts }) => fanouts[ordinal]! < 1)) continue;
      fastestRestMs[task] = Math.max(fastestRestMs[task]!, hopMs + fastestFromMs[child]!);
    }
    const alone = variants.flatMap(({ profiles }) =>
      profiles.map(
        (profile) => profile?.serviceTimes.decisionMs.data[0] ?? Number.POSITIVE_INFINITY,
      ),
    );
    fastestFromMs[task] = Math.min(...alone) + fastestRestMs[task]!;
  }
  return { fastestRestMs, fastestFromMs };
}

/** Returns where each of consecutive runs begins, and where the last ends. */
export function starts(lengths: readonly number[]): Uint32Array {
  const start = new Uint32Array(lengths.length + 1);
  for (const [index, length] of lengths.entries()) start[index + 1] = start[index]! + length;
  return start;
}
