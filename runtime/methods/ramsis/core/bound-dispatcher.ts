/** The dispatcher with a queue for each worker. */
import type { RamsisBundle } from "../../../bundle/schema.ts";
import { DEFAULT_MAX_PENDING } from "../../../core/admission.ts";
import { assert } from "../../../core/assert.ts";
import {
  type CommandBuffer,
  DROP_LATE,
  DROP_NO_WORKER,
  DROP_QUEUE_FULL,
} from "../../../core/command-buffer.ts";
import { decisionSloMs } from "../../../core/decision-slo.ts";
import type { LoadShare, SeenLoad } from "../../../core/load-share.ts";
import type { PaceMonitor } from "../../../core/pace.ts";
import { DeadlineQueues } from "../../../core/queue.ts";
import { ANY_VARIANT, isNamed } from "../../../core/wanted-variant.ts";
import { type Balancer, balancerOf } from "./balancer.ts";
import type { Dispatcher } from "./dispatcher.ts";
import { Policy, quickestQueryMs } from "./policy.ts";
import { BUSY, DOWN, IDLE, type PaceOptions, WorkerPaces, workerStates } from "./workers.ts";

/**
 * A queue per worker, and a query bound to one when it arrives. A worker decides when it is idle
 * and receives a query, and when its batch is done and others wait; it is never idle while queries
 * wait for it. A queue may be longer than those of the tables while its worker serves all of it in
 * time, and is decided for as the longest of the tables. Source: RAMSIS §3.
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
  readonly #paces: WorkerPaces;
  /** Queries in the longest queue of the tables. */
  readonly #tableCapacity: number;
  /** When the batch of each worker ends, as expected. */
  readonly #endMs: Float64Array;
  /** Time of a query in the quickest batch, ms. */
  #queryMs: number;
  /** Time that a query has which arrives now, ms. */
  #sloMs: number;
  #busyCount = 0;
  /** Queries that arrive at once, so far. */
  #jointCount = 0;

  constructor(bundle: RamsisBundle, ready: boolean, options: PaceOptions = {}) {
    this.#policy = Policy.fromBundle(bundle);
    this.#stateByWorker = workerStates(bundle, ready);
    this.workerCount = this.#stateByWorker.length;
    this.#paces = new WorkerPaces(bundle, this.workerCount, ready, options);
    this.#tableCapacity = this.#policy.queueCapacity;
    this.#endMs = new Float64Array(this.workerCount);
    this.#queryMs = quickestQueryMs(bundle);
    this.#sloMs = decisionSloMs(bundle.cluster, bundle.slo.latencyMs);
    const inTime = Math.min(DEFAULT_MAX_PENDING, Math.floor(this.#sloMs / this.#queryMs));
    this.queueCapacity = Math.max(this.#tableCapacity, inTime);
    this.waitingCapacity = this.workerCount * this.queueCapacity;
    // A joint arrival may let every worker start, each after drops of queries that waited for it.
    this.commandCapacity = this.waitingCapacity + this.workerCount;
    this.#queues = new DeadlineQueues(this.workerCount, this.queueCapacity);
    this.#balancer = balancerOf(
      bundle.policy.balancer,
      this.#stateByWorker,
      this.#queues,
      this.pace,
    );
  }

  get pace(): PaceMonitor {
    return this.#paces.monitor;
  }

  isFull(nowMs: number): boolean {
    let isUp = false;
    for (let worker = 0; worker < this.workerCount; worker++) {
      const state = this.#stateByWorker[worker];
      if (state === DOWN) continue;
      if (state === IDLE || this.#hasRoom(worker, nowMs + this.#sloMs, nowMs)) return false;
      isUp = true;
    }
    return isUp;
  }

  onArrival(query: number, deadlineMs: number, nowMs: number, out: CommandBuffer): void {
    this.#place(query, deadlineMs, ANY_VARIANT, nowMs, out);
    // Counted last: an arrival that counted itself would see a load higher than the true one.
    this.#policy.recordArrival(nowMs);
  }

  onJointArrival(
    query: number,
    deadlineMs: number,
    wanted: number,
    nowMs: number,
    out: CommandBuffer,
  ): void {
    this.#jointCount++;
    const worker = this.#nextWorker(query, deadlineMs, nowMs, out);
    const queues = this.#queues;
    if (worker >= 0) queues.insert(worker, query, deadlineMs, queues.arrivingWanted(wanted));
  }

  onJointEnd(nowMs: number, out: CommandBuffer): void {
    for (let worker = 0; worker < this.workerCount; worker++) {
      if (this.#stateByWorker[worker] === IDLE) this.#startBatch(worker, nowMs, out);
    }
    if (this.#jointCount > 0) this.#policy.recordArrival(nowMs, this.#jointCount);
    this.#jointCount = 0;
    this.#queues.endArrivals();
  }

  onRefused(queries: number, nowMs: number): void {
    this.#policy.recordArrival(nowMs, queries);
  }

  onBatchDone(worker: number, nowMs: number, out: CommandBuffer, ranMs = Number.NaN): void {
    assert(this.#stateByWorker[worker] === BUSY, "a worker that is done was busy");
    this.#paces.done(worker, ranMs, this.#busyCount--, nowMs);
    this.#stateByWorker[worker] = IDLE;
    this.#startBatch(worker, nowMs, out);
  }

  onWake(): void {}

  onWorkerReady(worker: number): void {
    assert(this.#stateByWorker[worker] === DOWN, "a worker that comes up was down");
    this.#stateByWorker[worker] = IDLE;
    this.pace.onReady(worker);
  }

  onWorkerLost(worker: number, nowMs: number, out: CommandBuffer): void {
    assert(this.#stateByWorker[worker] !== DOWN, "a worker that goes down was up");
    if (this.#stateByWorker[worker] === BUSY) this.#busyCount--;
    this.#stateByWorker[worker] = DOWN;
    this.pace.onLost(worker);
    const queues = this.#queues;
    while (queues.length(worker) > 0) {
      const deadlineMs = queues.earliestDeadlineMs(worker);
      const wanted = queues.wanted(worker);
      this.#place(queues.take(worker), deadlineMs, wanted, nowMs, out);
    }
  }

  onRetry(
    query: number,
    deadlineMs: number,
    wanted: number,
    nowMs: number,
    out: CommandBuffer,
  ): void {
    this.#place(query, deadlineMs, wanted, nowMs, out);
  }

  onCancel(query: number): boolean {
    return this.#queues.remove(query);
  }

  replaceBundle(bundle: RamsisBundle): void {
    this.#policy.replaceBundle(bundle);
    this.#queryMs = quickestQueryMs(bundle);
    this.#paces.replaceBundle(bundle);
  }

  onShare(share: LoadShare): void {
    this.#policy.follow(share);
    this.pace.share(share.workers);
  }

  seenLoad(nowMs: number): SeenLoad {
    return this.#policy.seenLoad(nowMs);
  }

  loadQps(nowMs: number): number {
    return this.#policy.loadQps(nowMs);
  }

  /** Gives a query to the balancer's worker, which starts if it is idle, or gives it up. */
  #place(
    query: number,
    deadlineMs: number,
    wanted: number,
    nowMs: number,
    out: CommandBuffer,
  ): void {
    const worker = this.#nextWorker(query, deadlineMs, nowMs, out);
    if (worker < 0) return;
    this.#queues.insert(worker, query, deadlineMs, wanted);
    if (this.#stateByWorker[worker] === IDLE) this.#startBatch(worker, nowMs, out);
  }

  /**
   * Returns the worker that a query goes to, with room in its queue; −1 if the query is given up.
   */
  #nextWorker(query: number, deadlineMs: number, nowMs: number, out: CommandBuffer): number {
    const worker = this.#balancer.next();
    if (worker < 0) {
      out.drop(0, query, DROP_NO_WORKER);
      return -1;
    }
    // Only a joint arrival can be too large for an idle worker.
    if (this.#hasRoom(worker, deadlineMs, nowMs)) return worker;
    if (this.#stateByWorker[worker] === IDLE) {
      this.#startBatch(worker, nowMs, out);
      if (this.#hasRoom(worker, deadlineMs, nowMs)) return worker;
    }
    out.drop(worker, query, DROP_QUEUE_FULL);
    return -1;
  }

  /** Whether a query may wait: the tables have its queue, or the quickest service is in time. */
  #hasRoom(worker: number, deadlineMs: number, nowMs: number): boolean {
    const length = this.#queues.length(worker);
    if (length < this.#tableCapacity) return true;
    if (length >= this.queueCapacity) return false;
    const isIdle = this.#stateByWorker[worker] === IDLE;
    const startMs = isIdle ? nowMs : Math.max(nowMs, this.#endMs[worker]!);
    return startMs + (length + 1) * this.#queryMs * this.pace.paceOf(worker) <= deadlineMs;
  }

  /** Decides for an idle worker, if queries wait for it. */
  #startBatch(worker: number, nowMs: number, out: CommandBuffer): void {
    const policy = this.#policy;
    const queues = this.#queues;
    this.pace.look(nowMs);
    const pace = this.pace.paceOf(worker);
    while (queues.length(worker) > 0) {
      const deadlineMs = queues.earliestDeadlineMs(worker);
      if (!(deadlineMs < nowMs + policy.leastSlackMs(this.#wanted(worker), pace))) break;
      out.drop(worker, queues.take(worker), DROP_LATE);
    }
    const queued = queues.length(worker);
    if (queued === 0) return;
    const slackMs = queues.earliestDeadlineMs(worker) - nowMs;
    const wanted = this.#wanted(worker);
    this.#stateByWorker[worker] = BUSY;
    this.#busyCount++;
    if (isNamed(wanted)) {
      const count = queues.namedCount(worker, wanted);
      const { named } = policy;
      const batch = named.inTime(wanted, count, slackMs / pace) || named.late(wanted, count);
      out.startBatch(worker, wanted, policy.level, queued);
      const taken = queues.takeFor(worker, wanted, false, batch, out);
      this.#endMs[worker] = nowMs + named.serviceMs(wanted, taken) * pace;
      this.#paces.started(worker, wanted, taken, this.#busyCount);
      return;
    }
    const action = policy.decide(queued, slackMs, nowMs, pace, this.pace);
    const batch = Math.min(policy.batch(action), queued);
    assert(batch > 0, "a batch holds at least one query");
    out.startBatch(worker, policy.variant(action), policy.level, queued);
    this.#endMs[worker] = nowMs + policy.named.serviceMs(policy.variant(action), batch) * pace;
    this.#paces.started(worker, policy.variant(action), batch, this.#busyCount);
    if (queues.isChoosy(worker)) queues.takeFor(worker, policy.variant(action), true, batch, out);
    else for (let taken = 0; taken < batch; taken++) out.appendQuery(queues.take(worker));
  }

  /** Which variant the first query of a queue asks for. */
  #wanted(worker: number): number {
    return this.#queues.isChoosy(worker) ? this.#queues.wanted(worker) : ANY_VARIANT;
  }
}
