/** Chooses the worker of the next query, if each worker has a queue of its own. */
import type { RamsisBundle } from "../../../bundle/schema.ts";
import { assert } from "../../../core/assert.ts";
import type { PaceMonitor } from "../../../core/pace.ts";
import type { DeadlineQueues } from "../../../core/queue.ts";
import { DOWN, IDLE } from "./workers.ts";

/** Chooses the worker of the next query. */
export interface Balancer {
  /** Returns a worker that is up, or −1. */
  next(): number;
}

export function balancerOf(
  kind: RamsisBundle["policy"]["balancer"],
  stateByWorker: Uint8Array,
  queues: DeadlineQueues,
  pace: PaceMonitor,
): Balancer {
  assert(kind !== "pooled", "a pooled queue has nothing to balance");
  return kind === "round-robin"
    ? new RoundRobinBalancer(stateByWorker, pace)
    : new ShortestQueueBalancer(stateByWorker, queues, pace);
}

/**
 * Central arrival i goes to worker i mod K, however long its queue, as long as all are up; one that
 * is down is passed over.
 *
 * The worker MDP rests on this: each worker sees every K-th arrival. Source: RAMSIS §3.2.1.
 */
export class RoundRobinBalancer implements Balancer {
  readonly #stateByWorker: Uint8Array;
  readonly #pace: PaceMonitor | null;
  /** Part of a query that each worker is due, where paces differ. */
  readonly #due: Float64Array;
  #nextWorker = 0;

  constructor(stateByWorker: Uint8Array, pace: PaceMonitor | null = null) {
    assert(stateByWorker.length > 0, "a cluster has at least one worker");
    this.#stateByWorker = stateByWorker;
    this.#pace = pace;
    this.#due = new Float64Array(stateByWorker.length);
  }

  next(): number {
    const pace = this.#pace;
    if (pace !== null && !pace.isEven) return this.#nextDue(pace);
    const workerCount = this.#stateByWorker.length;
    for (let tried = 0; tried < workerCount; tried++) {
      const worker = this.#nextWorker;
      this.#nextWorker = worker + 1 === workerCount ? 0 : worker + 1;
      if (this.#stateByWorker[worker] !== DOWN) return worker;
    }
    return -1;
  }

  /** Smooth weighted round-robin: shares of the queries in proportion to 1 / pace. */
  #nextDue(pace: PaceMonitor): number {
    const due = this.#due;
    let best = -1;
    let total = 0;
    for (let worker = 0; worker < due.length; worker++) {
      if (this.#stateByWorker[worker] === DOWN) continue;
      const share = 1 / pace.meanPaceOf(worker);
      total += share;
      due[worker]! += share;
      if (best < 0 || due[worker]! > due[best]!) best = worker;
    }
    if (best >= 0) due[best]! -= total;
    return best;
  }
}

/**
 * Chooses the worker for which the fewest queries wait; idle workers come before busy ones, and
 * ties go to the next in turn. Source: RAMSIS appendix I.1.
 */
export class ShortestQueueBalancer implements Balancer {
  readonly #stateByWorker: Uint8Array;
  readonly #queues: DeadlineQueues;
  readonly #pace: PaceMonitor | null;
  #nextWorker = 0;

  constructor(stateByWorker: Uint8Array, queues: DeadlineQueues, pace: PaceMonitor | null = null) {
    this.#stateByWorker = stateByWorker;
    this.#queues = queues;
    this.#pace = pace;
  }

  next(): number {
    const states = this.#stateByWorker;
    const workerCount = states.length;
    let best = -1;
    let bestRank = Number.POSITIVE_INFINITY;
    // An idle worker with an empty queue has the lowest rank of all.
    for (let offset = 0; offset < workerCount && bestRank > 0; offset++) {
      const turn = this.#nextWorker + offset;
      const worker = turn < workerCount ? turn : turn - workerCount;
      const state = states[worker]!;
      if (state === DOWN) continue;
      // After a joint arrival, some queries may wait for a worker that is idle.
      const ahead = 2 * this.#queues.length(worker) + (state === IDLE ? 0 : 1);
      const pace = this.#pace;
      // If paces differ, ranks by the time until a new last query would be served.
      const rank = pace === null || pace.isEven ? ahead : (ahead + 1) * pace.meanPaceOf(worker);
      if (rank < bestRank) {
        best = worker;
        bestRank = rank;
      }
    }
    if (best >= 0) this.#nextWorker = best + 1 === workerCount ? 0 : best + 1;
    return best;
  }
}
