/** Event queue of a simulation. */
import { assert } from "stratagem-runtime/internal/core/assert";

/**
 * Events of workers, at most one per worker, such as the end of a batch: a binary heap of workers,
 * ordered by time, then rank, then insertion. Events can be cancelled.
 */
export class EventQueue {
  readonly #timeMs: Float64Array;
  readonly #rank: Uint32Array;
  /** Sequence number of the insertion; a float64 counts to 2^53. */
  readonly #sequence: Float64Array;
  readonly #heap: Uint32Array;
  /** Position in the heap plus one; 0 for a worker without an event. */
  readonly #place: Uint32Array;
  #length = 0;
  #inserted = 0;

  constructor(workerCount: number) {
    this.#timeMs = new Float64Array(workerCount);
    this.#rank = new Uint32Array(workerCount);
    this.#sequence = new Float64Array(workerCount);
    this.#heap = new Uint32Array(workerCount);
    this.#place = new Uint32Array(workerCount);
  }

  get length(): number {
    return this.#length;
  }

  /** Time of the first event; Infinity if the queue is empty. */
  get nextMs(): number {
    if (this.#length === 0) return Number.POSITIVE_INFINITY;
    return this.#timeMs[this.#at(0)] ?? Number.NaN;
  }

  has(worker: number): boolean {
    return this.#place[worker] !== 0;
  }

  /** @param rank orders events of the same time, lowest first. */
  push(timeMs: number, worker: number, rank = 0): void {
    assert(this.#place[worker] === 0, "a worker has at most one event");
    this.#timeMs[worker] = timeMs;
    this.#rank[worker] = rank;
    this.#sequence[worker] = this.#inserted++;
    this.#rise(this.#length++, worker);
  }

  /**
   * Removes the first event of a queue that is not empty.
   * @returns its worker.
   */
  pop(): number {
    assert(this.#length > 0, "the event queue is not empty");
    const worker = this.#at(0);
    this.cancel(worker);
    return worker;
  }

  cancel(worker: number): void {
    const hole = (this.#place[worker] ?? 0) - 1;
    if (hole < 0) return;
    this.#place[worker] = 0;
    const last = this.#at(--this.#length);
    if (last === worker) return;
    const parent = (hole - 1) >>> 1;
    if (hole > 0 && this.#isBefore(last, this.#at(parent))) this.#rise(hole, last);
    else this.#sink(hole, last);
  }

  #rise(from: number, worker: number): void {
    let hole = from;
    while (hole > 0) {
      const parent = (hole - 1) >>> 1;
      const above = this.#at(parent);
      if (!this.#isBefore(worker, above)) break;
      this.#put(hole, above);
      hole = parent;
    }
    this.#put(hole, worker);
  }

  #sink(from: number, worker: number): void {
    const length = this.#length;
    let hole = from;
    for (let child = 2 * hole + 1; child < length; child = 2 * hole + 1) {
      let next = this.#at(child);
      if (child + 1 < length && this.#isBefore(this.#at(child + 1), next)) {
        child++;
        next = this.#at(child);
      }
      if (!this.#isBefore(next, worker)) break;
      this.#put(hole, next);
      hole = child;
    }
    this.#put(hole, worker);
  }

  #put(place: number, worker: number): void {
    this.#heap[place] = worker;
    this.#place[worker] = place + 1;
  }

  #isBefore(worker: number, other: number): boolean {
    const timeMs = this.#timeMs[worker] ?? Number.NaN;
    const otherMs = this.#timeMs[other] ?? Number.NaN;
    if (timeMs !== otherMs) return timeMs < otherMs;
    const rank = this.#rank[worker] ?? 0;
    const otherRank = this.#rank[other] ?? 0;
    if (rank !== otherRank) return rank < otherRank;
    return (this.#sequence[worker] ?? 0) < (this.#sequence[other] ?? 0);
  }

  #at(place: number): number {
    return this.#heap[place] ?? 0;
  }
}
