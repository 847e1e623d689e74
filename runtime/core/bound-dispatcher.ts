import type { RamsisBundle } from "../bundle/schema.ts";
import { assert } from "./assert.ts";
import { type Balancer, balancerOf } from "./balancer.ts";
import {
  type CommandBuffer,
  DROP_LATE,
  DROP_NO_WORKER,
  DROP_QUEUE_FULL,
} from "./command-buffer.ts";
import type { Dispatcher } from "./dispatcher.ts";
import { Policy } from "./policy.ts";
import { DeadlineQueues } from "./queue.ts";
import { BUSY, DOWN, IDLE, workerStates } from "./worker-states.ts";

/**
 * A queue per worker, and a query bound to one when it arrives. A worker decides when it is idle and receives a query, and when its batch is done
 * and others wait; it is never idle while queries wait for it. Source: RAMSIS §3.
 */
export class BoundDispatcher implements Dispatcher {
  readonly workerCount: number;
  readonly queueCapacity: number;
  readonly waitingCapacity: number;
  readonly commandCapacity: number;
  readonly wakeMs = Number.POSITIVE_INFINITY;
  readonly #policy: Policy;
  readonly #balancer: Balancer;
  readonly #queues: DeadlineQueues;
  readonly #stateByWorker: Uint8Array;

  constructor(bundle: RamsisBundle, ready: boolean) {
    this.#policy = Policy.fromBundle(bundle);
    this.#stateByWorker = workerStates(bundle, ready);
    this.workerCount = this.#stateByWorker.length;
    this.queueCapacity = this.#policy.queueCapacity;
    this.waitingCapacity = this.workerCount * this.queueCapacity;
    // A loss hands on a whole queue; a batch may follow the drops of the queries before it.
    this.commandCapacity = this.queueCapacity + 1;
    this.#queues = new DeadlineQueues(this.workerCount, this.queueCapacity);
    this.#balancer = balancerOf(bundle.policy.balancer, this.#stateByWorker, this.#queues);
  }

  onArrival(query: number, deadlineMs: number, nowMs: number, out: CommandBuffer): void {
    this.#place(query, deadlineMs, nowMs, out);
    // Counted last: an arrival that counted itself would see a load higher than the true one.
    this.#policy.recordArrival(nowMs);
  }

  onBatchDone(worker: number, nowMs: number, out: CommandBuffer): void {
    assert(this.#stateByWorker[worker] === BUSY, "a worker that is done was busy");
    this.#stateByWorker[worker] = IDLE;
    this.#startBatch(worker, nowMs, out);
  }

  onWake(): void {}

  onWorkerReady(worker: number): void {
    assert(this.#stateByWorker[worker] === DOWN, "a worker that comes up was down");
    this.#stateByWorker[worker] = IDLE;
  }

  onWorkerLost(worker: number, nowMs: number, out: CommandBuffer): void {
    assert(this.#stateByWorker[worker] !== DOWN, "a worker that goes down was up");
    this.#stateByWorker[worker] = DOWN;
    const queues = this.#queues;
    while (queues.length(worker) > 0) {
      const deadlineMs = queues.earliestDeadlineMs(worker);
      this.#place(queues.take(worker), deadlineMs, nowMs, out);
    }
  }

  onCancel(query: number): boolean {
    return this.#queues.remove(query);
  }

  replaceBundle(bundle: RamsisBundle): void {
    this.#policy.replaceBundle(bundle);
  }

  loadQps(nowMs: number): number {
    return this.#policy.loadQps(nowMs);
  }

  /** Gives a query to the balancer's worker, or gives it up. */
  #place(query: number, deadlineMs: number, nowMs: number, out: CommandBuffer): void {
    const worker = this.#balancer.next();
    if (worker < 0) {
      out.drop(0, query, DROP_NO_WORKER);
    } else if (this.#queues.length(worker) === this.queueCapacity) {
      out.drop(worker, query, DROP_QUEUE_FULL);
    } else {
      this.#queues.insert(worker, query, deadlineMs);
      if (this.#stateByWorker[worker] === IDLE) this.#startBatch(worker, nowMs, out);
    }
  }

  /** Decides for an idle worker, if queries wait for it. */
  #startBatch(worker: number, nowMs: number, out: CommandBuffer): void {
    const policy = this.#policy;
    const queues = this.#queues;
    const leastDeadlineMs = nowMs + policy.leastSlackMs;
    while (queues.length(worker) > 0 && queues.earliestDeadlineMs(worker) < leastDeadlineMs) {
      out.drop(worker, queues.take(worker), DROP_LATE);
    }
    const queued = queues.length(worker);
    if (queued === 0) return;
    const action = policy.decide(queued, queues.earliestDeadlineMs(worker) - nowMs, nowMs);
    const batch = Math.min(policy.batch(action), queued);
    assert(batch > 0, "a batch holds at least one query");
    out.startBatch(worker, policy.variant(action), policy.level);
    for (let taken = 0; taken < batch; taken++) out.appendQuery(queues.take(worker));
    this.#stateByWorker[worker] = BUSY;
  }
}
