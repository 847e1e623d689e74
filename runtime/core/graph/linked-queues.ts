/** Keeps queues of queries as lists in two arrays. */
import { assert } from "../assert.ts";
import { NONE } from "./pipeline-shape.ts";

/**
 * Queues of queries whose names are small integers: lists through two arrays by query, so that a
 * query, such as a cancelled one, can leave from the middle in constant time.
 *
 * Names are stored plus one, so that memory of unused names is never touched.
 */
export class LinkedQueues {
  waiting = 0;
  readonly #next: Uint32Array;
  readonly #previous: Uint32Array;
  /** Queue in which a query waits. */
  readonly #queueByQuery: Uint16Array;
  readonly #first: Uint32Array;
  readonly #last: Uint32Array;
  readonly #length: Uint32Array;

  constructor(queueCount: number, queryCapacity: number) {
    assert(queueCount < 0xffff, "queues are numbered in 16 bits");
    this.#next = new Uint32Array(queryCapacity);
    this.#previous = new Uint32Array(queryCapacity);
    this.#queueByQuery = new Uint16Array(queryCapacity);
    this.#first = new Uint32Array(queueCount);
    this.#last = new Uint32Array(queueCount);
    this.#length = new Uint32Array(queueCount);
  }

  length(queue: number): number {
    return this.#length[queue]!;
  }

  /** Returns the query at the head; NONE if the queue is empty. */
  first(queue: number): number {
    return this.#first[queue]! - 1;
  }

  /** Query at the end, likewise. */
  last(queue: number): number {
    return this.#last[queue]! - 1;
  }

  /** Returns the query before a waiting one; NONE before the head. */
  previous(query: number): number {
    return this.#previous[query]! - 1;
  }

  /** Returns the query after a waiting one; NONE after the last. */
  next(query: number): number {
    return this.#next[query]! - 1;
  }

  append(queue: number, query: number): void {
    this.insertAfter(this.last(queue), queue, query);
  }

  /** @param before a query that waits in the queue; NONE to insert at the head. */
  insertAfter(before: number, queue: number, query: number): void {
    assert(this.#queueByQuery[query] === 0, "a query waits once");
    const after = before === NONE ? this.#first[queue]! : this.#next[before]!;
    this.#previous[query] = before + 1;
    this.#next[query] = after;
    if (before === NONE) this.#first[queue] = query + 1;
    else this.#next[before] = query + 1;
    if (after === 0) this.#last[queue] = query + 1;
    else this.#previous[after - 1] = query + 1;
    this.#queueByQuery[query] = queue + 1;
    this.#length[queue]!++;
    this.waiting++;
  }

  /** Takes the first query of a queue that is not empty. */
  take(queue: number): number {
    const query = this.first(queue);
    assert(query !== NONE, "the queue is not empty");
    this.remove(query);
    return query;
  }

  /** @returns whether the query waited. */
  remove(query: number): boolean {
    const named = this.#queueByQuery[query]!;
    if (named === 0) return false;
    const queue = named - 1;
    const before = this.#previous[query]!;
    const after = this.#next[query]!;
    if (before === 0) this.#first[queue] = after;
    else this.#next[before - 1] = after;
    if (after === 0) this.#last[queue] = before;
    else this.#previous[after - 1] = before;
    this.#queueByQuery[query] = 0;
    this.#length[queue]!--;
    this.waiting--;
    return true;
  }
}
