/** Estimates how long a batch and the rest of its queries' way take, by what waits there now. */
import type { LinkedQueues } from "../../../core/graph/linked-queues.ts";
import { PLAIN, type TaskGraph } from "../../../core/graph/task-graph.ts";
import type { ThemisShape } from "./shape.ts";

/** What there is of each task, in force: [taskCount] each. */
export interface WayState {
  readonly queues: Pick<LinkedQueues, "length">;
  readonly readyByTask: Uint32Array;
  readonly cores: Uint32Array;
  readonly batch: Uint32Array;
  /** Whether a burst may still be met with more cores. */
  readonly mayBeRaised: () => boolean;
}

/** Sums in another order than those of a simulation differ in the last digits. */
const ROUNDING = 1e-9;
/** In place of a time: the way does not lead there. */
const NOT_THERE = -1;

/**
 * The end of a batch's queries, if each task behind has first what is queued there now and then
 * their own batch. Only what every query takes is on the way, for one that goes no further is in
 * time earlier; nobody else who may come between counts; and as long as cores may be raised, tasks
 * behind have the most. So what it says is hardly ever more than it will be.
 */
export class WayAhead {
  readonly #shape: ThemisShape;
  readonly #state: WayState;
  /** [taskCount]: parents whose queries all come here, as they are. */
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
   * @param cores of the instance that runs it. @param batch queries of it.
   */
  throughMs(task: number, cores: number, batch: number): number {
    const endMs = this.#endMs;
    endMs.fill(NOT_THERE);
    endMs[task] = this.#batchMs(task, cores, batch);
    let lastMs = endMs[task]!;
    for (let child = task + 1; child < this.#shape.taskCount; child++) {
      const readyMs = this.#readyMs(child);
      if (readyMs === NOT_THERE) continue;
      endMs[child] = Math.max(readyMs, this.#backlogMs(child)) + this.#ownMs(child, batch);
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

  /** Whole batches that are queued, on all instances that are up. */
  #backlogMs(task: number): number {
    const { queues, readyByTask, batch } = this.#state;
    const atOnce = batch[task]! * Math.max(1, readyByTask[task]!);
    const rounds = Math.floor(queues.length(task) / atOnce);
    return rounds === 0 ? 0 : rounds * this.#batchMs(task, this.#coresOf(task), batch[task]!);
  }

  #ownMs(task: number, batch: number): number {
    const most = this.#state.batch[task]!;
    return this.#batchMs(task, this.#coresOf(task), Math.min(batch, most));
  }

  #coresOf(task: number): number {
    const { cores, mayBeRaised } = this.#state;
    return mayBeRaised() ? this.#shape.maxCoresByTask[task]! : cores[task]!;
  }

  /** @param batch within the table of the task. */
  #batchMs(task: number, cores: number, batch: number): number {
    const { latencyMsByTask, maxBatchByTaskPool } = this.#shape;
    return latencyMsByTask[task]![(cores - 1) * maxBatchByTaskPool[task]! + batch - 1]!;
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
