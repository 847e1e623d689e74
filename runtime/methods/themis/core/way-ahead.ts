/** Estimates how long a batch and the rest of its queries' way take, from the current queues. */
import type { LinkedQueues } from "../../../core/graph/linked-queues.ts";
import { PLAIN, type TaskGraph } from "../../../core/graph/task-graph.ts";
import type { ThemisShape } from "./shape.ts";

/** Current state: queues by task, the rest [variantCount] each. */
interface WayState {
  readonly queues: Pick<LinkedQueues, "length">;
  readonly readyByVariant: Uint32Array;
  /** Target instances. */
  readonly instances: Uint32Array;
  readonly cores: Uint32Array;
  readonly batch: Uint32Array;
  /** Whether a burst may still be met with more cores. */
  readonly mayBeRaised: () => boolean;
  /** Service times of the instances behind, relative to the profile. */
  readonly pace: { readonly poolPace: number };
}

/** Sums in another order than those of a simulation differ in the last digits. */
const ROUNDING = 1e-9;
/** In place of a time: the way does not lead there. */
const NOT_THERE = -1;

/**
 * Estimates the end of a batch's queries, if each task behind serves first what is queued there now
 * and then their own batch. Only tasks that every query visits count, because a query that goes no
 * further ends earlier; queries that arrive meanwhile do not count; and as long as cores may be
 * raised, tasks behind are assumed to have the most. Of several variants that run at a time the
 * fastest counts. So the estimate hardly ever exceeds the actual time.
 */
export class WayAhead {
  readonly #shape: ThemisShape;
  readonly #state: WayState;
  /** Parents whose queries all come to a task, unchanged, [taskCount]. */
  readonly #parentsByTask: readonly Uint32Array[];
  /** [taskCount]: when the batch is through. */
  readonly #endMs: Float64Array;

  constructor(shape: ThemisShape, state: WayState) {
    this.#shape = shape;
    this.#state = state;
    this.#parentsByTask = parentsOf(shape.graph);
    this.#endMs = new Float64Array(shape.taskCount);
  }

  /**
   * From the start of a batch to the end of its queries, ms.
   * @param cores of the instance that runs it. @param batch queries of it. @param pace of it.
   */
  throughMs(variant: number, cores: number, batch: number, pace = 1): number {
    const endMs = this.#endMs;
    const task = this.#shape.taskByVariant[variant]!;
    endMs.fill(NOT_THERE);
    endMs[task] = this.#batchMs(variant, cores, batch) * pace;
    let lastMs = endMs[task]!;
    for (let child = task + 1; child < this.#shape.taskCount; child++) {
      const readyMs = this.#readyMs(child);
      if (readyMs === NOT_THERE) continue;
      endMs[child] = this.#childMs(child, readyMs, batch);
      lastMs = Math.max(lastMs, endMs[child]!);
    }
    return lastMs * (1 - ROUNDING);
  }

  #readyMs(task: number): number {
    let readyMs = NOT_THERE;
    for (const parent of this.#parentsByTask[task]!) {
      const endMs = this.#endMs[parent]!;
      if (endMs !== NOT_THERE) readyMs = Math.max(readyMs, endMs + this.#shape.hopMs);
    }
    return readyMs;
  }

  /** Returns when a batch is through a later task, whose queries are ready at a time. */
  #childMs(task: number, readyMs: number, batch: number): number {
    const { variantStart } = this.#shape;
    const atOnce = this.#atOnce(task);
    let leastMs = Number.POSITIVE_INFINITY;
    for (let variant = variantStart[task]!; variant < variantStart[task + 1]!; variant++) {
      if (!this.#isThere(variant)) continue;
      const startMs = Math.max(readyMs, this.#backlogMs(variant, task, atOnce));
      leastMs = Math.min(leastMs, startMs + this.#variantMs(variant, batch));
    }
    return leastMs === Number.POSITIVE_INFINITY ? readyMs : leastMs;
  }

  /**
   * Returns the number of queries that all instances of a task that are up take at once, at least
   * those of one.
   */
  #atOnce(task: number): number {
    const { variantStart } = this.#shape;
    const { readyByVariant, batch } = this.#state;
    let queries = 0;
    let ofOne = 0;
    for (let variant = variantStart[task]!; variant < variantStart[task + 1]!; variant++) {
      queries += batch[variant]! * readyByVariant[variant]!;
      ofOne = Math.max(ofOne, batch[variant]!);
    }
    return Math.max(queries, ofOne);
  }

  /** Whether a variant has instances in force: batches of it are planned. */
  #isThere(variant: number): boolean {
    const { readyByVariant, instances, batch } = this.#state;
    return batch[variant]! > 0 && (readyByVariant[variant]! > 0 || instances[variant]! > 0);
  }

  /** Whole batches that are queued, on all instances that are up. */
  #backlogMs(variant: number, task: number, atOnce: number): number {
    const { queues, batch } = this.#state;
    const rounds = Math.floor(queues.length(task) / atOnce);
    if (rounds === 0) return 0;
    const batchMs = this.#batchMs(variant, this.#coresOf(variant), batch[variant]!);
    return rounds * batchMs * this.#state.pace.poolPace;
  }

  #variantMs(variant: number, batch: number): number {
    const most = this.#state.batch[variant]!;
    const profiledMs = this.#batchMs(variant, this.#coresOf(variant), Math.min(batch, most));
    return profiledMs * this.#state.pace.poolPace;
  }

  #coresOf(variant: number): number {
    const { cores, mayBeRaised } = this.#state;
    return mayBeRaised() ? this.#shape.maxCoresByVariant[variant]! : cores[variant]!;
  }

  /** @param batch within the table of the variant. */
  #batchMs(variant: number, cores: number, batch: number): number {
    const { latencyMsByVariant, maxBatchByTaskPool } = this.#shape;
    return latencyMsByVariant[variant]![(cores - 1) * maxBatchByTaskPool[variant]! + batch - 1]!;
  }
}

function parentsOf(graph: TaskGraph): Uint32Array[] {
  return Array.from({ length: graph.taskCount }, (_, task) => {
    const parents: number[] = [];
    for (let edge = graph.inStart[task]!; edge < graph.inStart[task + 1]!; edge++) {
      const parent = graph.parentByEdge[edge]!;
      const isSure = graph.shareByEdge[edge]! >= 1 && graph.kindByEdge[edge] === PLAIN;
      if (parent >= 0 && isSure) parents.push(parent);
    }
    return Uint32Array.from(parents);
  });
}
