/** Keeps the idle workers of each task as sets of bits. */
import { NONE } from "./pipeline-shape.ts";

/**
 * The idle workers of each task, as sets of bits, so that the one of the lowest index is found at
 * once.
 */
export class IdleSets {
  readonly #wordCount: number;
  /** [taskCount, wordCount] */
  readonly #bits: Int32Array;
  /** [taskCount] */
  readonly #count: Uint32Array;

  constructor(taskCount: number, workerCount: number) {
    this.#wordCount = Math.ceil(workerCount / 32);
    this.#bits = new Int32Array(taskCount * this.#wordCount);
    this.#count = new Uint32Array(taskCount);
  }

  add(task: number, worker: number): void {
    this.#bits[task * this.#wordCount + (worker >>> 5)]! |= 1 << (worker & 31);
    this.#count[task]!++;
  }

  remove(task: number, worker: number): void {
    this.#bits[task * this.#wordCount + (worker >>> 5)]! &= ~(1 << (worker & 31));
    this.#count[task]!--;
  }

  count(task: number): number {
    return this.#count[task]!;
  }

  /** Returns the idle worker of a task with the lowest index, or NONE. */
  lowest(task: number): number {
    if (this.#count[task] === 0) return NONE;
    const first = task * this.#wordCount;
    let word = 0;
    while (this.#bits[first + word] === 0) word++;
    const bits = this.#bits[first + word]!;
    return 32 * word + 31 - Math.clz32(bits & -bits);
  }
}
