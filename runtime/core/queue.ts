import { assert } from "./assert.ts";

/**
 * Earliest-deadline queues, one per worker, in two flat arrays.
 *
 * Each queue is a ring kept sorted by deadline; queries with equal deadlines stay in the order they came, so with a single SLO a queue is
 * first in, first out and an insertion costs O(1). The ring size is a power of two so that wrapping is a mask.
 */
export class DeadlineQueues {
  readonly #capacity: number;
  readonly #ringSize: number;
  readonly #query: Uint32Array;
  readonly #deadlineMs: Float64Array;
  readonly #head: Uint32Array;
  readonly #length: Uint32Array;

  /** @param capacity queries one queue holds at most. */
  constructor(queueCount: number, capacity: number) {
    assert(Number.isInteger(capacity) && capacity > 0, "a queue holds at least one query");
    let ringSize = 1;
    while (ringSize < capacity) ringSize *= 2;
    this.#capacity = capacity;
    this.#ringSize = ringSize;
    this.#query = new Uint32Array(queueCount * ringSize);
    this.#deadlineMs = new Float64Array(queueCount * ringSize);
    this.#head = new Uint32Array(queueCount);
    this.#length = new Uint32Array(queueCount);
  }

  length(queue: number): number {
    return this.#length[queue]!;
  }

  /** Inserts behind every query whose deadline is not later. The caller has checked that the queue is not full. */
  insert(queue: number, query: number, deadlineMs: number): void {
    const queries = this.#query;
    const deadlines = this.#deadlineMs;
    const base = queue * this.#ringSize;
    const mask = this.#ringSize - 1;
    const head = this.#head[queue]!;
    const length = this.#length[queue]!;
    assert(length < this.#capacity, "the queue has room");
    let position = head + length;
    while (position > head) {
      const before = base + ((position - 1) & mask);
      if (deadlines[before]! <= deadlineMs) break;
      queries[base + (position & mask)] = queries[before]!;
      deadlines[base + (position & mask)] = deadlines[before]!;
      position--;
    }
    queries[base + (position & mask)] = query;
    deadlines[base + (position & mask)] = deadlineMs;
    this.#length[queue] = length + 1;
  }

  /** Deadline of the first query of a queue that is not empty. */
  earliestDeadlineMs(queue: number): number {
    return this.#deadlineMs[queue * this.#ringSize + this.#head[queue]!]!;
  }

  /** Deadline of the query at a position of a queue, 0 being the first; the position is below the length. */
  deadlineMs(queue: number, position: number): number {
    return this.#deadlineMs[this.#slot(queue, position)]!;
  }

  /** Removes a query wherever it waits, keeping the order of the others. @returns whether it was there; takes time in the number that wait. */
  remove(query: number): boolean {
    for (let queue = 0; queue < this.#length.length; queue++) {
      const length = this.#length[queue]!;
      for (let position = 0; position < length; position++) {
        if (this.#query[this.#slot(queue, position)] !== query) continue;
        for (let behind = position + 1; behind < length; behind++) {
          const to = this.#slot(queue, behind - 1);
          const from = this.#slot(queue, behind);
          this.#query[to] = this.#query[from]!;
          this.#deadlineMs[to] = this.#deadlineMs[from]!;
        }
        this.#length[queue] = length - 1;
        return true;
      }
    }
    return false;
  }

  /** Where the query at a position of a queue is kept, 0 being the first. */
  #slot(queue: number, position: number): number {
    return queue * this.#ringSize + ((this.#head[queue]! + position) & (this.#ringSize - 1));
  }

  /** Removes the first query of a queue that is not empty and returns it. */
  take(queue: number): number {
    const length = this.#length[queue]!;
    assert(length > 0, "the queue is not empty");
    const head = this.#head[queue]!;
    this.#head[queue] = (head + 1) & (this.#ringSize - 1);
    this.#length[queue] = length - 1;
    return this.#query[queue * this.#ringSize + head]!;
  }
}
