import { assert } from "./assert.ts";

/**
 * Round-robin balancer: central arrival i goes to worker i mod `workerCount`, whatever that worker's state.
 *
 * The worker MDP rests on this: each worker sees every `workerCount`-th arrival. Source: RAMSIS §3.2.1.
 */
export class RoundRobinBalancer {
  readonly #workerCount: number;
  #nextWorker = 0;

  constructor(workerCount: number) {
    assert(Number.isInteger(workerCount) && workerCount > 0, "a cluster has at least one worker");
    this.#workerCount = workerCount;
  }

  /** Worker of the next central arrival. */
  next(): number {
    const worker = this.#nextWorker;
    this.#nextWorker = worker + 1 === this.#workerCount ? 0 : worker + 1;
    return worker;
  }
}
