/** Queries that wait, earliest deadline first. */
import { assert } from "./assert.ts";
import type { CommandBuffer } from "./command-buffer.ts";
import { ANY_VARIANT, isNamed, mayAnswer } from "./wanted-variant.ts";

/**
 * Earliest-deadline queues, one per worker, in flat arrays.
 *
 * Each queue is a ring kept sorted by deadline; queries with equal deadlines stay in the order they
 * came, so with a single SLO a queue is first in, first out and an insertion costs O(1). The ring
 * size is a power of two so that wrapping is a mask.
 */
export class DeadlineQueues {
  readonly #capacity: number;
  readonly #ringSize: number;
  readonly #query: Uint32Array;
  readonly #deadlineMs: Float64Array;
  readonly #wanted: Uint32Array;
  readonly #head: Uint32Array;
  readonly #length: Uint32Array;
  /** Number of queries per queue that not every variant may answer. */
  readonly #choosyCount: Uint32Array;
  /** Group of the queries that arrive now, and the variant that these ask for so far. */
  #arrivingGroup = ANY_VARIANT;
  #arrivingWanted = ANY_VARIANT;

  /** @param capacity queries one queue holds at most. */
  constructor(queueCount: number, capacity: number) {
    assert(Number.isInteger(capacity) && capacity > 0, "a queue holds at least one query");
    let ringSize = 1;
    while (ringSize < capacity) ringSize *= 2;
    this.#capacity = capacity;
    this.#ringSize = ringSize;
    this.#query = new Uint32Array(queueCount * ringSize);
    this.#deadlineMs = new Float64Array(queueCount * ringSize);
    this.#wanted = new Uint32Array(queueCount * ringSize);
    this.#head = new Uint32Array(queueCount);
    this.#length = new Uint32Array(queueCount);
    this.#choosyCount = new Uint32Array(queueCount);
  }

  length(queue: number): number {
    return this.#length[queue]!;
  }

  /** Whether a query waits that not every variant may answer. */
  isChoosy(queue: number): boolean {
    return this.#choosyCount[queue]! > 0;
  }

  /**
   * Inserts behind every query whose deadline is not later. The caller has checked that the queue
   * is not full. @param wanted the variant that may answer it.
   */
  insert(queue: number, query: number, deadlineMs: number, wanted = ANY_VARIANT): void {
    const queries = this.#query;
    const deadlines = this.#deadlineMs;
    const wants = this.#wanted;
    const base = queue * this.#ringSize;
    const mask = this.#ringSize - 1;
    const head = this.#head[queue]!;
    const length = this.#length[queue]!;
    assert(length < this.#capacity, "the queue has room");
    let position = head + length;
    while (position > head) {
      const before = base + ((position - 1) & mask);
      if (deadlines[before]! <= deadlineMs) break;
      const slot = base + (position & mask);
      queries[slot] = queries[before]!;
      deadlines[slot] = deadlines[before]!;
      wants[slot] = wants[before]!;
      position--;
    }
    const slot = base + (position & mask);
    queries[slot] = query;
    deadlines[slot] = deadlineMs;
    wants[slot] = wanted;
    this.#length[queue] = length + 1;
    if (wanted !== ANY_VARIANT) this.#choosyCount[queue]!++;
  }

  /**
   * Returns what one of several queries that arrive at once asks for: a variant, if others of its
   * group have made room for it and so decided.
   */
  arrivingWanted(wanted: number): number {
    if (wanted !== this.#arrivingGroup) {
      this.#arrivingGroup = wanted;
      this.#arrivingWanted = wanted;
    }
    return this.#arrivingWanted;
  }

  /** All that arrive at once have arrived; the number of their group may be used again. */
  endArrivals(): void {
    this.#arrivingGroup = ANY_VARIANT;
    this.#arrivingWanted = ANY_VARIANT;
  }

  /** Deadline of a query of a queue, by default of the first. */
  earliestDeadlineMs(queue: number, position = 0): number {
    return this.#deadlineMs[this.#slot(queue, position)]!;
  }

  /** Which variant may answer the query at a position, 0 being the first. */
  wanted(queue: number, position = 0): number {
    return this.#wanted[this.#slot(queue, position)]!;
  }

  /** Returns the position of the first query that asks for a variant by name; −1 if none does. */
  firstNamed(queue: number): number {
    const length = this.#length[queue]!;
    for (let position = 0; position < length; position++) {
      if (isNamed(this.wanted(queue, position))) return position;
    }
    return -1;
  }

  /** Queries that ask for a variant by name. */
  namedCount(queue: number, variant: number): number {
    const length = this.#length[queue]!;
    let count = 0;
    for (let position = 0; position < length; position++) {
      if (this.wanted(queue, position) === variant) count++;
    }
    return count;
  }

  /**
   * Deadline of the query at a position of a queue, 0 being the first; the position is below the
   * length.
   */
  deadlineMs(queue: number, position: number): number {
    return this.#deadlineMs[this.#slot(queue, position)]!;
  }

  /**
   * Removes a query wherever it waits, keeping the order of the others.
   * @returns whether it was there; takes time in the number that wait.
   */
  remove(query: number): boolean {
    for (let queue = 0; queue < this.#length.length; queue++) {
      const length = this.#length[queue]!;
      for (let position = 0; position < length; position++) {
        const slot = this.#slot(queue, position);
        if (this.#query[slot] !== query) continue;
        if (this.#wanted[slot] !== ANY_VARIANT) this.#choosyCount[queue]!--;
        for (let behind = position + 1; behind < length; behind++) {
          this.#move(this.#slot(queue, behind), this.#slot(queue, behind - 1));
        }
        this.#length[queue] = length - 1;
        return true;
      }
    }
    return false;
  }

  /** Removes the first query of a queue that is not empty and returns it. */
  take(queue: number): number {
    const length = this.#length[queue]!;
    assert(length > 0, "the queue is not empty");
    const head = this.#head[queue]!;
    const slot = queue * this.#ringSize + head;
    if (this.#wanted[slot] !== ANY_VARIANT) this.#choosyCount[queue]!--;
    this.#head[queue] = (head + 1) & (this.#ringSize - 1);
    this.#length[queue] = length - 1;
    return this.#query[slot]!;
  }

  /**
   * Moves the first queries that a variant may answer, `most` of them at most, into the command
   * opened last, and decides for their groups. The order of the others is kept.
   * @param isOpen whether the policy chose the variant; otherwise only who names it is taken.
   */
  takeFor(
    queue: number,
    variant: number,
    isOpen: boolean,
    most: number,
    out: CommandBuffer,
  ): number {
    const length = this.#length[queue]!;
    let taken = 0;
    let end = 0;
    for (; end < length && taken < most; end++) {
      const slot = this.#slot(queue, end);
      const wanted = this.#wanted[slot]!;
      if (!mayAnswer(variant, wanted, isOpen)) continue;
      if (wanted !== ANY_VARIANT) {
        if (wanted !== variant) this.#decide(wanted, variant);
        this.#choosyCount[queue]!--;
      }
      out.appendQuery(this.#query[slot]!);
      taken++;
    }
    // Moves up those before the last one taken that stay behind.
    let to = end;
    for (let position = end - 1; position >= 0; position--) {
      const slot = this.#slot(queue, position);
      if (mayAnswer(variant, this.#wanted[slot]!, isOpen)) continue;
      to--;
      this.#move(slot, this.#slot(queue, to));
    }
    this.#head[queue] = (this.#head[queue]! + taken) & (this.#ringSize - 1);
    this.#length[queue] = length - taken;
    return taken;
  }

  /** All queries of a group, in every queue, ask for a variant from now on. */
  #decide(group: number, variant: number): void {
    if (group === this.#arrivingGroup) this.#arrivingWanted = variant;
    for (let queue = 0; queue < this.#length.length; queue++) {
      for (let position = 0; position < this.#length[queue]!; position++) {
        const slot = this.#slot(queue, position);
        if (this.#wanted[slot] === group) this.#wanted[slot] = variant;
      }
    }
  }

  #move(from: number, to: number): void {
    this.#query[to] = this.#query[from]!;
    this.#deadlineMs[to] = this.#deadlineMs[from]!;
    this.#wanted[to] = this.#wanted[from]!;
  }

  /** Returns the slot of the query at a position of a queue, 0 being the first. */
  #slot(queue: number, position: number): number {
    return queue * this.#ringSize + ((this.#head[queue]! + position) & (this.#ringSize - 1));
  }
}
