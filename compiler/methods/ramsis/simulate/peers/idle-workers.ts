/** Idle workers of a peer whose workers share one queue. */
import { assert } from "stratagem-runtime/internal/core/assert";

/** The one that became free last is taken first, like the runtime's pooled dispatcher. */
export class IdleWorkers {
  readonly #stack: Uint32Array;
  #count: number;

  /** All workers are idle at first. */
  constructor(workerCount: number) {
    this.#stack = Uint32Array.from({ length: workerCount }, (_, place) => workerCount - 1 - place);
    this.#count = workerCount;
  }

  get count(): number {
    return this.#count;
  }

  /** Requires an idle worker. */
  take(): number {
    assert(this.#count > 0, "a worker is free");
    return this.#stack[--this.#count] ?? 0;
  }

  free(worker: number): void {
    assert(this.#count < this.#stack.length, "a worker that becomes free was busy");
    this.#stack[this.#count++] = worker;
  }
}
