import { assert } from "../assert.ts";
import { NONE } from "./pipeline-shape.ts";

/**
 * Earliest-deadline queues of queries whose names are small integers: sorted lists through two arrays by query.
 *
 * Of equal deadlines the one that came first is first. A query comes out of the middle at once, which cancelled siblings need; going in costs as many
 * steps as queries with later deadlines wait, few where requests keep their order.
 */
export class QueryQueues {
  waiting = 0;
  readonly #deadlineMs: Float64Array;
  readonly #next: Int32Array;
  readonly #previous: Int32Array;
  /** Queue in which a query waits, NONE if in none. */
  readonly #queueByQuery: Int32Array;
  readonly #first: Int32Array;
  readonly #last: Int32Array;
  readonly #length: Uint32Array;

  /** @param deadlineMs by query; kept, not copied. */
  constructor(queueCount: number, deadlineMs: Float64Array) {
    const queryCapacity = deadlineMs.length;
    this.#deadlineMs = deadlineMs;
    this.#next = new Int32Array(queryCapacity).fill(NONE);
    this.#previous = new Int32Array(queryCapacity).fill(NONE);
    this.#queueByQuery = new Int32Array(queryCapacity).fill(NONE);
    this.#first = new Int32Array(queueCount).fill(NONE);
    this.#last = new Int32Array(queueCount).fill(NONE);
    this.#length = new Uint32Array(queueCount);
  }

  length(queue: number): number {
    return this.#length[queue]!;
  }

  /** Query with the earliest deadline, NONE if none waits. */
  first(queue: number): number {
    return this.#first[queue]!;
  }

  insert(queue: number, query: number): void {
    assert(this.#queueByQuery[query] === NONE, "a query waits once");
    const next = this.#next;
    const previous = this.#previous;
    const deadlines = this.#deadlineMs;
    const deadlineMs = deadlines[query]!;
    let before = this.#last[queue]!;
    while (before !== NONE && deadlines[before]! > deadlineMs) before = previous[before]!;
    const after = before === NONE ? this.#first[queue]! : next[before]!;
    previous[query] = before;
    next[query] = after;
    if (before === NONE) this.#first[queue] = query;
    else next[before] = query;
    if (after === NONE) this.#last[queue] = query;
    else previous[after] = query;
    this.#queueByQuery[query] = queue;
    this.#length[queue]!++;
    this.waiting++;
  }

  /** Takes the first query of a queue that is not empty. */
  take(queue: number): number {
    const query = this.#first[queue]!;
    assert(query !== NONE, "the queue is not empty");
    this.remove(query);
    return query;
  }

  /** @returns whether the query waited. */
  remove(query: number): boolean {
    const queue = this.#queueByQuery[query]!;
    if (queue === NONE) return false;
    const before = this.#previous[query]!;
    const after = this.#next[query]!;
    if (before === NONE) this.#first[queue] = after;
    else this.#next[before] = after;
    if (after === NONE) this.#last[queue] = before;
    else this.#previous[after] = before;
    this.#queueByQuery[query] = NONE;
    this.#length[queue]!--;
    this.waiting--;
    return true;
  }
}
