/** Keeps the open requests of a simulation and their unfinished queries. */
import { assert } from "stratagem-runtime/internal/core/assert";

const NONE = -1;

/** Open requests, in slots of flat arrays, and the unfinished queries of each. */
export class RequestTable {
  /** Time when its client sent it. */
  readonly sentMs: Float64Array;
  /** Deadline for core to serve its queries. */
  readonly deadlineMs: Float64Array;
  /**
   * End of the last of its leaf queries; for a request that has reached no leaf, the end of its
   * last query.
   */
  readonly leafDoneMs: Float64Array;
  readonly doneMs: Float64Array;
  readonly isDropped: Uint8Array;
  readonly openCount: Uint32Array;
  readonly #free: Uint32Array;
  #freeCount: number;

  constructor(capacity: number) {
    this.sentMs = new Float64Array(capacity);
    this.deadlineMs = new Float64Array(capacity);
    this.leafDoneMs = new Float64Array(capacity);
    this.doneMs = new Float64Array(capacity);
    this.isDropped = new Uint8Array(capacity);
    this.openCount = new Uint32Array(capacity);
    this.#free = allSlots(capacity);
    this.#freeCount = capacity;
  }

  get openRequests(): number {
    return this.#free.length - this.#freeCount;
  }

  /** @returns the slot of a new request, −1 if all are taken. */
  open(sentMs: number, deadlineMs: number): number {
    if (this.#freeCount === 0) return NONE;
    const slot = this.#free[--this.#freeCount] ?? NONE;
    this.sentMs[slot] = sentMs;
    this.deadlineMs[slot] = deadlineMs;
    this.leafDoneMs[slot] = Number.NEGATIVE_INFINITY;
    this.doneMs[slot] = sentMs;
    this.isDropped[slot] = 0;
    this.openCount[slot] = 0;
    return slot;
  }

  close(slot: number): void {
    assert(this.openCount[slot] === 0, "a request is closed when all its queries are done");
    this.#free[this.#freeCount++] = slot;
  }
}

/**
 * Queries that are under way, waiting or running, and those that were served and have outputs under
 * way.
 */
export class QuerySlots {
  readonly request: Int32Array;
  readonly task: Uint16Array;
  /** Query that produced it, −1 for a request's own. */
  readonly parent: Int32Array;
  /** Index of the variants along its path, in the tables of path accuracies. */
  readonly pathCell: Uint32Array;
  /**
   * Holders of the slot: the query until it is finished, and each child that is still on its way.
   */
  readonly holders: Uint32Array;
  /** Next query of the same request. */
  readonly next: Int32Array;
  readonly previous: Int32Array;
  readonly firstOfRequest: Int32Array;
  readonly #free: Uint32Array;
  #freeCount: number;

  constructor(capacity: number, requestCapacity: number) {
    this.request = new Int32Array(capacity);
    this.task = new Uint16Array(capacity);
    this.parent = new Int32Array(capacity);
    this.pathCell = new Uint32Array(capacity);
    this.holders = new Uint32Array(capacity);
    this.next = new Int32Array(capacity);
    this.previous = new Int32Array(capacity);
    this.firstOfRequest = new Int32Array(requestCapacity).fill(NONE);
    this.#free = allSlots(capacity);
    this.#freeCount = capacity;
  }

  get usedCount(): number {
    return this.#free.length - this.#freeCount;
  }

  get hasFree(): boolean {
    return this.#freeCount > 0;
  }

  open(request: number, task: number, parent: number, pathCell: number): number {
    assert(this.#freeCount > 0, "a slot is free");
    const slot = this.#free[--this.#freeCount] ?? NONE;
    this.request[slot] = request;
    this.task[slot] = task;
    this.parent[slot] = parent;
    this.pathCell[slot] = pathCell;
    this.holders[slot] = 1;
    const first = this.firstOfRequest[request] ?? NONE;
    this.next[slot] = first;
    this.previous[slot] = NONE;
    if (first !== NONE) this.previous[first] = slot;
    this.firstOfRequest[request] = slot;
    return slot;
  }

  /** Removes a query from the list of its request. */
  unlink(slot: number): void {
    const next = this.next[slot] ?? NONE;
    const previous = this.previous[slot] ?? NONE;
    if (previous === NONE) this.firstOfRequest[this.request[slot] ?? 0] = next;
    else this.next[previous] = next;
    if (next !== NONE) this.previous[next] = previous;
  }

  hold(slot: number): void {
    this.holders[slot] = (this.holders[slot] ?? 0) + 1;
  }

  /** Releases a hold; the slot is free without holds. */
  releaseHold(slot: number): void {
    const holders = (this.holders[slot] ?? 0) - 1;
    this.holders[slot] = holders;
    if (holders === 0) this.#free[this.#freeCount++] = slot;
  }
}

/** The first slot on top. */
function allSlots(capacity: number): Uint32Array {
  const slots = new Uint32Array(capacity);
  for (let position = 0; position < capacity; position++) slots[position] = capacity - 1 - position;
  return slots;
}
