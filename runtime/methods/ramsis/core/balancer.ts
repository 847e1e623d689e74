/** Which worker gets the next query, where each has a queue of its own. */
import type { RamsisBundle } from "../../../bundle/schema.ts";
import { assert } from "../../../core/assert.ts";
import type { DeadlineQueues } from "../../../core/queue.ts";
import { DOWN, IDLE } from "./worker-states.ts";

/** Says which worker gets the next query. */
export interface Balancer {
  /** A worker that is up, −1 if none is. */
  next(): number;
}

export function balancerOf(
  kind: RamsisBundle["policy"]["balancer"],
  stateByWorker: Uint8Array,
  queues: DeadlineQueues,
): Balancer {
  assert(kind !== "pooled", "a pooled queue has nothing to balance");
  return kind === "round-robin"
    ? new RoundRobinBalancer(stateByWorker)
    : new ShortestQueueBalancer(stateByWorker, queues);
}

/**
 * Central arrival i goes to worker i mod K, however long its queue, as long as all are up; one that
 * is down is passed over.
 *
 * The worker MDP rests on this: each worker sees every K-th arrival. Source: RAMSIS §3.2.1.
 */
export class RoundRobinBalancer implements Balancer {
  readonly #stateByWorker: Uint8Array;
  #nextWorker = 0;

  constructor(stateByWorker: Uint8Array) {
    assert(stateByWorker.length > 0, "a cluster has at least one worker");
    this.#stateByWorker = stateByWorker;
  }

  next(): number {
    const workerCount = this.#stateByWorker.length;
    for (let tried = 0; tried < workerCount; tried++) {
      const worker = this.#nextWorker;
      this.#nextWorker = worker + 1 === workerCount ? 0 : worker + 1;
      if (this.#stateByWorker[worker] !== DOWN) return worker;
    }
    return -1;
  }
}

/**
 * The worker for which the fewest queries wait; of several an idle one before a busy one, and of
 * those the next in turn. Source: RAMSIS appendix I.1.
 */
export class ShortestQueueBalancer implements Balancer {
  readonly #stateByWorker: Uint8Array;
  readonly #queues: DeadlineQueues;
  #nextWorker = 0;

  constructor(stateByWorker: Uint8Array, queues: DeadlineQueues) {
    this.#stateByWorker = stateByWorker;
    this.#queues = queues;
  }

  next(): number {
    const states = this.#stateByWorker;
    const workerCount = states.length;
    let best = -1;
    let bestRank = Number.POSITIVE_INFINITY;
    // An idle worker whose queue is empty has the lowest rank there is.
    for (let offset = 0; offset < workerCount && bestRank > 0; offset++) {
      const turn = this.#nextWorker + offset;
      const worker = turn < workerCount ? turn : turn - workerCount;
      const state = states[worker]!;
      if (state === DOWN) continue;
      // If queries arrive at once, some may wait for a worker that is idle.
      const rank = 2 * this.#queues.length(worker) + (state === IDLE ? 0 : 1);
      if (rank < bestRank) {
        best = worker;
        bestRank = rank;
      }
    }
    if (best >= 0) this.#nextWorker = best + 1 === workerCount ? 0 : best + 1;
    return best;
  }
}
