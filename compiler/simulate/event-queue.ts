import { assert } from "../../runtime/core/assert.ts";

/**
 * Batch completions to come, at most one per worker: a binary heap of workers keyed by (time, order of insertion).
 *
 * Events at equal times happen in a fixed order: arrivals before completions, which the simulation sees to, and completions in the order
 * their batches were started.
 */
export class EventQueue {
  readonly #timeMsByWorker: Float64Array;
  /** Running number of the insertion; a float64 counts to 2^53. */
  readonly #sequenceByWorker: Float64Array;
  readonly #heap: Uint32Array;
  #length = 0;
  #inserted = 0;

  constructor(workerCount: number) {
    this.#timeMsByWorker = new Float64Array(workerCount);
    this.#sequenceByWorker = new Float64Array(workerCount);
    this.#heap = new Uint32Array(workerCount);
  }

  get length(): number {
    return this.#length;
  }

  /** Time of the first event, Infinity when there is none. */
  nextMs(): number {
    if (this.#length === 0) return Number.POSITIVE_INFINITY;
    return this.#timeMsByWorker[this.#workerAt(0)] ?? Number.NaN;
  }

  push(timeMs: number, worker: number): void {
    assert(this.#length < this.#heap.length, "a worker has one completion to come at most");
    this.#timeMsByWorker[worker] = timeMs;
    this.#sequenceByWorker[worker] = this.#inserted++;
    let hole = this.#length++;
    while (hole > 0) {
      const parent = (hole - 1) >>> 1;
      const above = this.#workerAt(parent);
      if (!this.#isBefore(worker, above)) break;
      this.#heap[hole] = above;
      hole = parent;
    }
    this.#heap[hole] = worker;
  }

  /** Removes the first event of a queue that is not empty. @returns its worker. */
  pop(): number {
    assert(this.#length > 0, "the event queue is not empty");
    const first = this.#workerAt(0);
    const length = --this.#length;
    const last = this.#workerAt(length);
    let hole = 0;
    for (let child = 1; child < length; child = 2 * hole + 1) {
      let next = this.#workerAt(child);
      if (child + 1 < length && this.#isBefore(this.#workerAt(child + 1), next)) {
        child++;
        next = this.#workerAt(child);
      }
      if (!this.#isBefore(next, last)) break;
      this.#heap[hole] = next;
      hole = child;
    }
    this.#heap[hole] = last;
    return first;
  }

  #isBefore(worker: number, other: number): boolean {
    const timeMs = this.#timeMsByWorker[worker] ?? Number.NaN;
    const otherMs = this.#timeMsByWorker[other] ?? Number.NaN;
    if (timeMs !== otherMs) return timeMs < otherMs;
    return (this.#sequenceByWorker[worker] ?? 0) < (this.#sequenceByWorker[other] ?? 0);
  }

  #workerAt(position: number): number {
    return this.#heap[position] ?? 0;
  }
}
