/** Queries of several classes that wait, in lines of one class or of several. */
import type { CommandBuffer } from "../../../core/command-buffer.ts";
import { DeadlineQueues } from "../../../core/queue.ts";
import { mayAnswer } from "../../../core/wanted-variant.ts";

/** The classes `first` to `end` − 1. */
export interface ClassSpan {
  readonly first: number;
  readonly end: number;
}

/**
 * Queries that may be served in time, and those that were given up: the latter run when nothing
 * else does.
 */
export type Kind = 0 | 1;
export const IN_TIME: Kind = 0;
export const LATE: Kind = 1;

/**
 * A queue for each class and kind, earliest deadline first. A line is the queues of its classes,
 * read together: the earliest deadline of all is first, on ties that of the first class. So lines
 * may become one, or part, without anything being moved.
 */
export class LineQueues {
  /** Class from whose queue the last batch took its first query. */
  takenClass = 0;
  readonly #classCount: number;
  readonly #capacity: number;
  /** Queues: that of class c and a kind is c + kind · #classCount. */
  readonly #queues: DeadlineQueues;
  /** Position of the last query found by `findNamed` and `#findAnswerable`. */
  #foundQueue = -1;
  #foundPosition = 0;

  /** @param capacity queries that one queue holds at most. */
  constructor(classCount: number, capacity: number) {
    this.#classCount = classCount;
    this.#capacity = capacity;
    this.#queues = new DeadlineQueues(2 * classCount, capacity);
  }

  isFull(sloClass: number, kind: Kind): boolean {
    return this.#queues.length(sloClass + kind * this.#classCount) === this.#capacity;
  }

  insert(sloClass: number, kind: Kind, query: number, deadlineMs: number, wanted?: number): void {
    this.#queues.insert(sloClass + kind * this.#classCount, query, deadlineMs, wanted);
  }

  arrivingWanted(wanted: number): number {
    return this.#queues.arrivingWanted(wanted);
  }

  endArrivals(): void {
    this.#queues.endArrivals();
  }

  /** Removes a query wherever it waits. @returns whether it was there. */
  remove(query: number): boolean {
    return this.#queues.remove(query);
  }

  length({ first, end }: ClassSpan, kind: Kind): number {
    const offset = kind * this.#classCount;
    if (end - first === 1) return this.#queues.length(first + offset);
    let length = 0;
    for (let queue = first + offset; queue < end + offset; queue++) {
      length += this.#queues.length(queue);
    }
    return length;
  }

  /** Class of the query with the earliest deadline; −1 of an empty line. */
  firstClass({ first, end }: ClassSpan, kind: Kind): number {
    const queues = this.#queues;
    const offset = kind * this.#classCount;
    if (end - first === 1) return queues.length(first + offset) === 0 ? -1 : first;
    let found = -1;
    let earliestMs = Number.POSITIVE_INFINITY;
    for (let sloClass = first; sloClass < end; sloClass++) {
      if (queues.length(sloClass + offset) === 0) continue;
      const deadlineMs = queues.earliestDeadlineMs(sloClass + offset);
      if (found >= 0 && deadlineMs >= earliestMs) continue;
      found = sloClass;
      earliestMs = deadlineMs;
    }
    return found;
  }

  /** Returns the deadline of the first query of a class; infinite if none waits. */
  deadlineMs(sloClass: number, kind: Kind): number {
    const queue = sloClass + kind * this.#classCount;
    return this.#queues.length(queue) === 0
      ? Number.POSITIVE_INFINITY
      : this.#queues.earliestDeadlineMs(queue);
  }

  /** Returns the variant that the first query of a class asks for. */
  wanted(sloClass: number, kind: Kind): number {
    return this.#queues.wanted(sloClass + kind * this.#classCount);
  }

  /** Removes the first query of a class that has one, and returns it. */
  take(sloClass: number, kind: Kind): number {
    return this.#queues.take(sloClass + kind * this.#classCount);
  }

  /** Whether a query waits that not every variant may answer. */
  isChoosy({ first, end }: ClassSpan, kind: Kind): boolean {
    const offset = kind * this.#classCount;
    if (end - first === 1) return this.#queues.isChoosy(first + offset);
    for (let queue = first + offset; queue < end + offset; queue++) {
      if (this.#queues.isChoosy(queue)) return true;
    }
    return false;
  }

  /** Finds the query with the earliest deadline that asks for a variant by name. */
  findNamed({ first, end }: ClassSpan, kind: Kind): boolean {
    const queues = this.#queues;
    const offset = kind * this.#classCount;
    this.#foundQueue = -1;
    for (let queue = first + offset; queue < end + offset; queue++) {
      if (queues.isChoosy(queue)) this.#keepEarlier(queue, queues.firstNamed(queue));
    }
    return this.#foundQueue >= 0;
  }

  get foundWanted(): number {
    return this.#queues.wanted(this.#foundQueue, this.#foundPosition);
  }

  get foundDeadlineMs(): number {
    return this.#queues.earliestDeadlineMs(this.#foundQueue, this.#foundPosition);
  }

  /** Queries that ask for a variant by name. */
  namedCount({ first, end }: ClassSpan, kind: Kind, variant: number): number {
    const offset = kind * this.#classCount;
    let count = 0;
    for (let queue = first + offset; queue < end + offset; queue++) {
      if (this.#queues.isChoosy(queue)) count += this.#queues.namedCount(queue, variant);
    }
    return count;
  }

  /**
   * Moves the first queries of a line that a variant may answer, at most `most`, into the command
   * opened last.
   * @param isOpen whether the policy chose the variant; otherwise only queries that name it are
   * taken.
   * @returns how many.
   */
  takeFor(
    line: ClassSpan,
    kind: Kind,
    variant: number,
    isOpen: boolean,
    most: number,
    out: CommandBuffer,
  ): number {
    const queues = this.#queues;
    const offset = kind * this.#classCount;
    if (line.end - line.first === 1) {
      const queue = line.first + offset;
      this.takenClass = line.first;
      if (queues.isChoosy(queue)) return queues.takeFor(queue, variant, isOpen, most, out);
      const batch = isOpen ? Math.min(most, queues.length(queue)) : 0;
      for (let taken = 0; taken < batch; taken++) out.appendQuery(queues.take(queue));
      return batch;
    }
    const isChoosy = this.isChoosy(line, kind);
    let taken = 0;
    while (taken < most) {
      const queue = isChoosy
        ? this.#findAnswerable(line, kind, variant, isOpen)
        : this.firstClass(line, kind) + offset;
      if (queue < offset) break;
      if (taken === 0) this.takenClass = queue - offset;
      if (isChoosy) queues.takeFor(queue, variant, isOpen, 1, out);
      else out.appendQuery(queues.take(queue));
      taken++;
    }
    return taken;
  }

  /** Returns the queue of a line with the next query that the variant may answer, or −1. */
  #findAnswerable(line: ClassSpan, kind: Kind, variant: number, isOpen: boolean): number {
    const offset = kind * this.#classCount;
    this.#foundQueue = -1;
    for (let queue = line.first + offset; queue < line.end + offset; queue++) {
      this.#keepEarlier(queue, this.#firstAnswerable(queue, variant, isOpen));
    }
    return this.#foundQueue;
  }

  #firstAnswerable(queue: number, variant: number, isOpen: boolean): number {
    const length = this.#queues.length(queue);
    for (let position = 0; position < length; position++) {
      if (mayAnswer(variant, this.#queues.wanted(queue, position), isOpen)) return position;
    }
    return -1;
  }

  /** @param position −1 for no query. */
  #keepEarlier(queue: number, position: number): void {
    if (position < 0) return;
    const queues = this.#queues;
    const isEarlier =
      this.#foundQueue < 0 ||
      queues.earliestDeadlineMs(queue, position) <
        queues.earliestDeadlineMs(this.#foundQueue, this.#foundPosition);
    if (!isEarlier) return;
    this.#foundQueue = queue;
    this.#foundPosition = position;
  }
}
