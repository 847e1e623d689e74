/**
 * Queues of the tasks: first in, first out, except that queries already late may wait for the rest.
 */
import type { InferlineBundle } from "../../../bundle/schema.ts";
import { LinkedQueues } from "../../../core/graph/linked-queues.ts";
import { NONE } from "../../../core/graph/pipeline-shape.ts";
import { RATIO_GRID, UNIT } from "../../../core/ratio-tracker.ts";
import { type TimelyBatches, timelyBatches } from "./timely-batches.ts";

/**
 * Queue for each task and, where late queries wait for others, a second one for queries that cannot
 * be in time even if they start now and wait nowhere again. These are still served, whenever no
 * query that can be in time waits. So new queries do not wait behind lost ones while too few
 * replicas are up.
 */
export class StageQueues {
  readonly #queues: LinkedQueues;
  readonly #taskCount: number;
  /** Deadline per query; null if all queues are first in, first out. */
  readonly #deadlineMs: Float64Array | null;
  /** Rows by level and, in it, by the grid of paces. */
  readonly #timely: readonly (readonly TimelyBatches[])[];
  /** Pace of the workers, and its index in the grid. */
  #pace = 1;
  #paceIndex = UNIT;

  constructor(bundle: InferlineBundle, queryCapacity: number, isLateLast: boolean) {
    this.#taskCount = bundle.tasks.length;
    this.#queues = new LinkedQueues((isLateLast ? 2 : 1) * this.#taskCount, queryCapacity);
    this.#deadlineMs = isLateLast ? new Float64Array(queryCapacity) : null;
    this.#timely = bundle.levels.map((level) =>
      Array.from(RATIO_GRID, (pace) => timelyBatches(bundle, level, pace)),
    );
  }

  /** Sets the pace of the workers, by which time is left or not. */
  setPace(pace: number): void {
    if (pace === this.#pace) return;
    this.#pace = pace;
    let index = 0;
    while (index < RATIO_GRID.length - 1 && RATIO_GRID[index]! < pace) index++;
    this.#paceIndex = index;
  }

  /** Queries that wait at all tasks. */
  get waiting(): number {
    return this.#queues.waiting;
  }

  /** Queries that wait at a task. */
  length(task: number): number {
    const timely = this.#queues.length(task);
    return this.#deadlineMs === null ? timely : timely + this.#queues.length(this.#late(task));
  }

  append(task: number, query: number, deadlineMs: number): void {
    if (this.#deadlineMs !== null) this.#deadlineMs[query] = deadlineMs;
    this.#queues.append(task, query);
  }

  /** Puts a query back at the head; its deadline is known. */
  putFirst(task: number, query: number): void {
    this.#queues.insertAfter(NONE, task, query);
  }

  /** Moves queries at the head of a task that cannot be in time any more behind the others. */
  setBack(task: number, level: number, nowMs: number): void {
    if (this.#deadlineMs === null) return;
    const { restMs } = this.#timely[level]![this.#paceIndex]!;
    const startMs = nowMs + restMs[task]! * this.#pace;
    const queues = this.#queues;
    for (let query = queues.first(task); query !== NONE; query = queues.first(task)) {
      if (!(this.#deadlineMs[query]! < startMs)) return;
      queues.remove(query);
      queues.append(this.#late(task), query);
    }
  }

  /**
   * Returns the largest batch with which the first query of a task can be in time, but no smaller
   * than the batch that leaves time for those behind it; the planned one if no query can be in
   * time.
   */
  mostOf(task: number, level: number, planned: number, nowMs: number): number {
    const query = this.#queues.first(task);
    if (this.#deadlineMs === null || query === NONE) return planned;
    const { batches, restMs, batchMs } = this.#timely[level]![this.#paceIndex]!;
    const ms = batchMs[task]!;
    let most = Math.min(planned, batches[task]!);
    const afterMs = restMs[task]! - ms[most - 1]!;
    const leftMs = (this.#deadlineMs[query]! - nowMs) / this.#pace - afterMs;
    while (most < planned && ms[most]! <= leftMs) most++;
    return most;
  }

  /** Takes the first of a task where some wait. */
  take(task: number): number {
    return this.#queues.take(this.#queues.length(task) > 0 ? task : this.#late(task));
  }

  /** @returns whether the query waited. */
  remove(query: number): boolean {
    return this.#queues.remove(query);
  }

  #late(task: number): number {
    return this.#taskCount + task;
  }
}
