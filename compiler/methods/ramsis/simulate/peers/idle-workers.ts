/** The workers that are free, of a peer whose workers share one queue. */
import { assert } from "stratagem-runtime/internal/core/assert";

/** The one that became free last is taken first, as by the runtime's pooled dispatcher. */
export class IdleWorkers {
  readonly #stack: Uint32Array;
  #count: number;

  /** All are free. */
  constructor(workerCount: number) {
    this.#stack = Uint32Array.from({ length: workerCount }, (_, place) => workerCount - 1 - place);
    this.#count = workerCount;
  }

  get count(): number {
    return this.#count;
  }

  /** Of at least one. */
  take(): number {
    assert(this.#count > 0, "a worker is free");
    return this.#stack[--this.#count] ?? 0;
  }

  free(worker: number): void {
    assert(this.#count < this.#stack.length, "a worker that becomes free was busy");
    this.#stack[this.#count++] = worker;
  }
}
