/** Observes the stages of a simulation like the metrics of a cluster. */
import type { StageState } from "./scaler.ts";

/**
 * Observable state of the stages: waiting and running queries, and their integrals over time. Times
 * do not go back.
 */
export class StageWatch {
  #nowMs = 0;
  /** [taskCount], each: waiting and running queries, and busy and ready replicas. */
  readonly #waiting: Float64Array;
  readonly #running: Float64Array;
  readonly #busy: Float64Array;
  readonly #ready: Float64Array;
  readonly #arrived: Float64Array;
  /** [taskCount], each: integrals up to `#sinceMs`. */
  readonly #inStageMs: Float64Array;
  readonly #waitingMs: Float64Array;
  readonly #busyMs: Float64Array;
  readonly #sinceMs: Float64Array;

  constructor(taskCount: number) {
    this.#waiting = new Float64Array(taskCount);
    this.#running = new Float64Array(taskCount);
    this.#busy = new Float64Array(taskCount);
    this.#ready = new Float64Array(taskCount);
    this.#arrived = new Float64Array(taskCount);
    this.#inStageMs = new Float64Array(taskCount);
    this.#waitingMs = new Float64Array(taskCount);
    this.#busyMs = new Float64Array(taskCount);
    this.#sinceMs = new Float64Array(taskCount);
  }

  /** Sets the time of the following changes, until the next call. */
  atMs(nowMs: number): void {
    this.#nowMs = nowMs;
  }

  queryComes(task: number): void {
    this.#advance(task);
    add(this.#waiting, task, 1);
    add(this.#arrived, task, 1);
  }

  /** Records that a waiting query was dropped. */
  queryLeaves(task: number): void {
    this.#advance(task);
    add(this.#waiting, task, -1);
  }

  batchStarts(task: number, queries: number): void {
    this.#advance(task);
    add(this.#waiting, task, -queries);
    add(this.#running, task, queries);
    add(this.#busy, task, 1);
  }

  batchEnds(task: number, queries: number): void {
    this.#advance(task);
    add(this.#running, task, -queries);
    add(this.#busy, task, -1);
  }

  /** @param change 1 for a replica that has become ready, −1 for a ready one that was removed. */
  replicaChanges(task: number, change: number): void {
    add(this.#ready, task, change);
  }

  /** @param target desired replicas of the task, as last decided. */
  state(task: number, target: number, nowMs: number): StageState {
    this.atMs(nowMs);
    this.#advance(task);
    return {
      nowMs,
      target,
      ready: at(this.#ready, task),
      waiting: at(this.#waiting, task),
      running: at(this.#running, task),
      arrived: at(this.#arrived, task),
      inStageMs: at(this.#inStageMs, task),
      waitingMs: at(this.#waitingMs, task),
      busyMs: at(this.#busyMs, task),
    };
  }

  #advance(task: number): void {
    const ms = this.#nowMs - at(this.#sinceMs, task);
    if (ms <= 0) return;
    const waiting = at(this.#waiting, task);
    add(this.#waitingMs, task, ms * waiting);
    add(this.#inStageMs, task, ms * (waiting + at(this.#running, task)));
    add(this.#busyMs, task, ms * at(this.#busy, task));
    this.#sinceMs[task] = this.#nowMs;
  }
}

function at(values: Float64Array, task: number): number {
  return values[task] ?? Number.NaN;
}

function add(values: Float64Array, task: number, change: number): void {
  values[task] = at(values, task) + change;
}
