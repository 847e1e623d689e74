import type { RamsisBundle } from "../bundle/schema.ts";
import { assert } from "./assert.ts";
import {
  type CommandBuffer,
  DROP_LATE,
  DROP_NO_WORKER,
  DROP_QUEUE_FULL,
} from "./command-buffer.ts";
import type { Dispatcher } from "./dispatcher.ts";
import { GIVE_UP, Policy, WAIT } from "./policy.ts";
import { DeadlineQueues } from "./queue.ts";
import { BUSY, DOWN, IDLE, workerStates } from "./worker-states.ts";

/** The queue of those that may be served in time, and of those that were given up: they run when nothing else does. */
const QUEUE = 0;
const LATE = 1;

/**
 * One queue for all workers, and a query bound to one only when a batch starts. Whenever a worker is free and queries wait, the policy says which
 * batch to start, or to wait for more of them; it is asked again with the next event, or when the slack has fallen so far that it acts. Under more
 * load than the workers can carry it gives up queries, so that the others are served in time and not all of them late.
 */
export class PooledDispatcher implements Dispatcher {
  readonly workerCount: number;
  readonly queueCapacity: number;
  readonly waitingCapacity: number;
  readonly commandCapacity: number;
  wakeMs = Number.POSITIVE_INFINITY;
  readonly #policy: Policy;
  #drops: boolean;
  readonly #queues: DeadlineQueues;
  readonly #stateByWorker: Uint8Array;
  /** The idle workers, the one that became so last on top: it has the model in its cache. */
  readonly #idle: Uint32Array;
  #idleCount = 0;
  #upCount = 0;

  constructor(bundle: RamsisBundle, ready: boolean) {
    this.#policy = Policy.fromBundle(bundle);
    this.#stateByWorker = workerStates(bundle, ready);
    this.workerCount = this.#stateByWorker.length;
    this.queueCapacity = this.#policy.queueCapacity;
    this.waitingCapacity = 2 * this.queueCapacity;
    this.commandCapacity = this.waitingCapacity + this.workerCount;
    this.#queues = new DeadlineQueues(2, this.queueCapacity);
    this.#drops = bundle.policy.drop;
    this.#idle = new Uint32Array(this.workerCount);
    if (!ready) return;
    this.#upCount = this.workerCount;
    for (let worker = this.workerCount - 1; worker >= 0; worker--) this.#pushIdle(worker);
  }

  onArrival(query: number, deadlineMs: number, nowMs: number, out: CommandBuffer): void {
    const queues = this.#queues;
    if (this.#upCount === 0) out.drop(0, query, DROP_NO_WORKER);
    else if (queues.length(QUEUE) === this.queueCapacity) out.drop(0, query, DROP_QUEUE_FULL);
    else {
      queues.insert(QUEUE, query, deadlineMs);
      if (this.#idleCount > 0) this.#startBatches(nowMs, out);
    }
    // Counted last: an arrival that counted itself would see a load higher than the true one.
    this.#policy.recordArrival(nowMs);
  }

  onBatchDone(worker: number, nowMs: number, out: CommandBuffer): void {
    assert(this.#stateByWorker[worker] === BUSY, "a worker that is done was busy");
    this.#stateByWorker[worker] = IDLE;
    this.#pushIdle(worker);
    this.#startBatches(nowMs, out);
  }

  onWake(nowMs: number, out: CommandBuffer): void {
    this.#startBatches(nowMs, out);
  }

  onWorkerReady(worker: number, nowMs: number, out: CommandBuffer): void {
    assert(this.#stateByWorker[worker] === DOWN, "a worker that comes up was down");
    this.#stateByWorker[worker] = IDLE;
    this.#upCount++;
    this.#pushIdle(worker);
    this.#startBatches(nowMs, out);
  }

  onWorkerLost(worker: number, _nowMs: number, out: CommandBuffer): void {
    const state = this.#stateByWorker[worker];
    assert(state !== DOWN, "a worker that goes down was up");
    if (state === IDLE) this.#removeIdle(worker);
    this.#stateByWorker[worker] = DOWN;
    this.#upCount--;
    if (this.#idleCount === 0) this.wakeMs = Number.POSITIVE_INFINITY;
    if (this.#upCount > 0) return;
    const queues = this.#queues;
    while (queues.length(QUEUE) > 0) out.drop(0, queues.take(QUEUE), DROP_NO_WORKER);
    while (queues.length(LATE) > 0) out.drop(0, queues.take(LATE), DROP_NO_WORKER);
  }

  onCancel(query: number): boolean {
    const waited = this.#queues.remove(query);
    if (this.#queues.length(QUEUE) === 0) this.wakeMs = Number.POSITIVE_INFINITY;
    return waited;
  }

  replaceBundle(bundle: RamsisBundle): void {
    this.#policy.replaceBundle(bundle);
    this.#drops = bundle.policy.drop;
  }

  loadQps(nowMs: number): number {
    return this.#policy.loadQps(nowMs);
  }

  /** Decides as long as a worker is free, queries wait and the policy does not say to wait with them. */
  #startBatches(nowMs: number, out: CommandBuffer): void {
    const policy = this.#policy;
    const queues = this.#queues;
    const leastDeadlineMs = nowMs + policy.leastSlackMs;
    this.wakeMs = Number.POSITIVE_INFINITY;
    while (this.#idleCount > 0 && queues.length(QUEUE) > 0) {
      const deadlineMs = queues.earliestDeadlineMs(QUEUE);
      if (deadlineMs < leastDeadlineMs) {
        out.drop(0, queues.take(QUEUE), DROP_LATE);
        continue;
      }
      const queued = queues.length(QUEUE);
      const action = policy.decide(queued, deadlineMs - nowMs, nowMs);
      if (action === WAIT) {
        this.wakeMs = nowMs + policy.waitMs(queued, deadlineMs - nowMs);
        return;
      }
      if (action === GIVE_UP) this.#giveUp(deadlineMs, out);
      else this.#startBatch(QUEUE, action, out);
    }
    while (this.#idleCount > 0 && queues.length(LATE) > 0) {
      this.#startBatch(LATE, policy.rescue(queues.length(LATE)), out);
    }
  }

  #startBatch(queue: number, action: number, out: CommandBuffer): void {
    const policy = this.#policy;
    const queues = this.#queues;
    const worker = this.#idle[--this.#idleCount]!;
    const batch = Math.min(policy.batch(action), queues.length(queue));
    out.startBatch(worker, policy.variant(action), policy.level);
    for (let taken = 0; taken < batch; taken++) out.appendQuery(queues.take(queue));
    this.#stateByWorker[worker] = BUSY;
  }

  /** Of more late queries than may wait, the one that is late the longest goes. */
  #giveUp(deadlineMs: number, out: CommandBuffer): void {
    const queues = this.#queues;
    const query = queues.take(QUEUE);
    if (this.#drops) {
      out.drop(0, query, DROP_LATE);
      return;
    }
    if (queues.length(LATE) === this.queueCapacity) out.drop(0, queues.take(LATE), DROP_LATE);
    queues.insert(LATE, query, deadlineMs);
  }

  #pushIdle(worker: number): void {
    this.#idle[this.#idleCount++] = worker;
  }

  #removeIdle(worker: number): void {
    const idle = this.#idle;
    const position = idle.indexOf(worker);
    assert(position >= 0 && position < this.#idleCount, "an idle worker is on the stack");
    idle.copyWithin(position, position + 1, this.#idleCount);
    this.#idleCount--;
  }
}
