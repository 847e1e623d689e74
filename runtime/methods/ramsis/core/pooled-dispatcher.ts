/** The dispatcher with one queue for all workers. */
import type { RamsisBundle } from "../../../bundle/schema.ts";
import { assert } from "../../../core/assert.ts";
import {
  type CommandBuffer,
  DROP_LATE,
  DROP_NO_WORKER,
  DROP_QUEUE_FULL,
} from "../../../core/command-buffer.ts";
import type { LoadShare, SeenLoad } from "../../../core/load-share.ts";
import type { PaceMonitor } from "../../../core/pace.ts";
import { DeadlineQueues } from "../../../core/queue.ts";
import { ANY_VARIANT, isNamed } from "../../../core/wanted-variant.ts";
import type { Dispatcher } from "./dispatcher.ts";
import { LateBound } from "./late-bound.ts";
import { LatePause } from "./late-pause.ts";
import { GIVE_UP, Policy, WAIT } from "./policy.ts";
import { type PaceOptions, WorkerPaces } from "./worker-paces.ts";
import { BUSY, DOWN, IDLE, workerStates } from "./worker-states.ts";

/**
 * The queue of those that may be served in time, and of those that were given up: they run when
 * nothing else does.
 */
const QUEUE = 0;
const LATE = 1;

/**
 * One queue for all workers, and a query bound to one only when a batch starts. Whenever a worker
 * is free and queries wait, the policy says which batch to start, or to wait for more of them; it
 * is asked again with the next event, or when the slack has fallen so far that it acts. Under more
 * load than the workers can carry it gives up queries, so that the others are served in time and
 * not all of them late.
 *
 * Queries that ask for one variant wait in the same queue. When such a query is the first, or while
 * the policy waits with those before it, a batch of that variant is started, of those only who ask
 * for it, as large as is in time.
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
  readonly #paces: WorkerPaces;
  /** Position among the idle workers of the one that takes the next batch. */
  #next = 0;
  /** Queries that arrive at once, so far. */
  #jointCount = 0;
  readonly #latePause = new LatePause();
  #lateBound: LateBound;

  constructor(bundle: RamsisBundle, ready: boolean, options: PaceOptions = {}) {
    this.#policy = Policy.fromBundle(bundle);
    this.#stateByWorker = workerStates(bundle, ready);
    this.workerCount = this.#stateByWorker.length;
    this.#paces = new WorkerPaces(bundle, this.workerCount, ready, options);
    this.queueCapacity = this.#policy.queueCapacity;
    this.waitingCapacity = 2 * this.queueCapacity;
    this.commandCapacity = this.waitingCapacity + this.workerCount;
    this.#queues = new DeadlineQueues(2, this.queueCapacity);
    this.#drops = bundle.policy.drop;
    this.#lateBound = new LateBound(bundle);
    this.#idle = new Uint32Array(this.workerCount);
    if (!ready) return;
    this.#upCount = this.workerCount;
    for (let worker = this.workerCount - 1; worker >= 0; worker--) this.#pushIdle(worker);
  }

  get pace(): PaceMonitor {
    return this.#paces.monitor;
  }

  get isFull(): boolean {
    return this.#upCount > 0 && this.#queues.length(QUEUE) === this.queueCapacity;
  }

  onArrival(query: number, deadlineMs: number, nowMs: number, out: CommandBuffer): void {
    const queues = this.#queues;
    if (this.#upCount === 0) out.drop(0, query, DROP_NO_WORKER);
    else if (queues.length(QUEUE) === this.queueCapacity) out.drop(0, query, DROP_QUEUE_FULL);
    else {
      queues.insert(QUEUE, query, deadlineMs);
      this.#startOrWait(nowMs, out);
    }
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
    const queues = this.#queues;
    const most = this.queueCapacity;
    this.#jointCount++;
    if (this.#upCount === 0) {
      out.drop(0, query, DROP_NO_WORKER);
      return;
    }
    if (queues.length(QUEUE) === most && this.#idleCount > 0) {
      this.#startBatches(nowMs, out, most - 1);
    }
    if (queues.length(QUEUE) === most) out.drop(0, query, DROP_QUEUE_FULL);
    else queues.insert(QUEUE, query, deadlineMs, queues.arrivingWanted(wanted));
  }

  onJointEnd(nowMs: number, out: CommandBuffer): void {
    this.#startOrWait(nowMs, out);
    if (this.#jointCount > 0) this.#policy.recordArrival(nowMs, this.#jointCount);
    this.#jointCount = 0;
    this.#queues.endArrivals();
  }

  onRefused(queries: number, nowMs: number): void {
    this.#policy.recordArrival(nowMs, queries);
  }

  onBatchDone(worker: number, nowMs: number, out: CommandBuffer, ranMs = Number.NaN): void {
    assert(this.#stateByWorker[worker] === BUSY, "a worker that is done was busy");
    this.#paces.done(worker, ranMs, this.#upCount - this.#idleCount, nowMs);
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
    this.pace.onReady(worker);
    this.#pushIdle(worker);
    this.#startBatches(nowMs, out);
  }

  onWorkerLost(worker: number, _nowMs: number, out: CommandBuffer): void {
    const state = this.#stateByWorker[worker];
    assert(state !== DOWN, "a worker that goes down was up");
    if (state === IDLE) this.#removeIdle(worker);
    this.#stateByWorker[worker] = DOWN;
    this.#upCount--;
    this.pace.onLost(worker);
    if (this.#upCount > 0) {
      if (this.#idleCount === 0) this.wakeMs = this.#dueMs();
      return;
    }
    this.wakeMs = Number.POSITIVE_INFINITY;
    const queues = this.#queues;
    while (queues.length(QUEUE) > 0) out.drop(0, queues.take(QUEUE), DROP_NO_WORKER);
    while (queues.length(LATE) > 0) out.drop(0, queues.take(LATE), DROP_NO_WORKER);
  }

  onRetry(
    query: number,
    deadlineMs: number,
    wanted: number,
    nowMs: number,
    out: CommandBuffer,
  ): void {
    const queues = this.#queues;
    if (this.#upCount === 0) out.drop(0, query, DROP_NO_WORKER);
    else if (queues.length(QUEUE) === this.queueCapacity) out.drop(0, query, DROP_QUEUE_FULL);
    else {
      queues.insert(QUEUE, query, deadlineMs, wanted);
      this.#startOrWait(nowMs, out);
    }
  }

  onCancel(query: number): boolean {
    const queues = this.#queues;
    const waited = queues.remove(query);
    if (queues.length(QUEUE) + queues.length(LATE) === 0) this.wakeMs = Number.POSITIVE_INFINITY;
    return waited;
  }

  replaceBundle(bundle: RamsisBundle): void {
    this.#policy.replaceBundle(bundle);
    this.#paces.replaceBundle(bundle);
    this.#drops = bundle.policy.drop;
    this.#lateBound = new LateBound(bundle);
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

  #startOrWait(nowMs: number, out: CommandBuffer): void {
    if (this.#idleCount > 0) this.#startBatches(nowMs, out);
    else this.wakeMs = Math.min(this.wakeMs, Math.max(nowMs, this.#dueMs()));
  }

  #startBatches(nowMs: number, out: CommandBuffer, left = 0): void {
    this.#dropDue(QUEUE, nowMs, out);
    this.#dropDue(LATE, nowMs, out);
    this.wakeMs = Number.POSITIVE_INFINITY;
    this.#decide(nowMs, out, left);
    this.wakeMs = Math.min(this.wakeMs, Math.max(nowMs, this.#dueMs()));
  }

  /** Drops the queries that no batch can answer within the bound any more. */
  #dropDue(queue: number, nowMs: number, out: CommandBuffer): void {
    const queues = this.#queues;
    while (
      queues.length(queue) > 0 &&
      this.#lateBound.dueMs(queues.earliestDeadlineMs(queue)) <= nowMs
    ) {
      out.drop(0, queues.take(queue), DROP_LATE);
    }
  }

  /** When a query that waits now has to be dropped, if it still waits. */
  #dueMs(): number {
    const queues = this.#queues;
    let deadlineMs = Number.POSITIVE_INFINITY;
    if (queues.length(QUEUE) > 0) deadlineMs = queues.earliestDeadlineMs(QUEUE);
    if (queues.length(LATE) > 0) {
      deadlineMs = Math.min(deadlineMs, queues.earliestDeadlineMs(LATE));
    }
    return this.#lateBound.dueMs(deadlineMs);
  }

  /**
   * Decides as long as a worker is free, more than `left` queries wait and the policy does not say
   * to wait with them.
   */
  #decide(nowMs: number, out: CommandBuffer, left: number): void {
    const policy = this.#policy;
    const queues = this.#queues;
    const { monitor } = this.#paces;
    monitor.look(nowMs);
    while (this.#idleCount > 0 && queues.length(QUEUE) > left) {
      const worker = this.#chooseIdle();
      const pace = monitor.paceOf(worker);
      const deadlineMs = queues.earliestDeadlineMs(QUEUE);
      // A straggler serves what it can in time and leaves the rest to the others.
      const isStraggler = !monitor.isEven && monitor.isStraggler(worker);
      if (deadlineMs < nowMs + policy.leastSlackMs(ANY_VARIANT, pace)) {
        if (isStraggler) return;
        this.#giveUp(out);
        continue;
      }
      if (queues.isChoosy(QUEUE) && isNamed(queues.wanted(QUEUE))) {
        if (this.#startNamed(0, pace, nowMs, out)) continue;
        if (isStraggler) return;
        // One that cannot be in time any more is given up: dropped, or served when all else is.
        this.#giveUp(out);
        continue;
      }
      const queued = queues.length(QUEUE);
      const action = policy.decide(queued, deadlineMs - nowMs, nowMs, pace, monitor);
      if (action === WAIT) {
        if (this.#startNamed(queues.firstNamed(QUEUE), pace, nowMs, out)) continue;
        this.wakeMs = nowMs + policy.waitMs(deadlineMs - nowMs);
        return;
      }
      if (action !== GIVE_UP) this.#startBatch(QUEUE, action, out);
      else if (isStraggler) return;
      else this.#giveUp(out);
    }
    if (left === 0) this.#startLate(nowMs, out);
  }

  #startLate(nowMs: number, out: CommandBuffer): void {
    const policy = this.#policy;
    const queues = this.#queues;
    while (this.#idleCount > 0 && queues.length(LATE) > 0) {
      const startMs = this.#latePause.endMs(this.#idleCount, this.#upCount, nowMs);
      if (startMs > nowMs) {
        this.wakeMs = startMs;
        return;
      }
      const deadlineMs = queues.earliestDeadlineMs(LATE);
      const pace = this.pace.paceOf(this.#chooseIdle());
      const leftMs = this.#lateBound.leftMs(deadlineMs, nowMs) / pace;
      const wanted = queues.isChoosy(LATE) ? queues.wanted(LATE) : ANY_VARIANT;
      if (isNamed(wanted)) {
        const batch = policy.named.late(wanted, queues.namedCount(LATE, wanted), leftMs);
        if (batch === 0) {
          out.drop(0, queues.take(LATE), DROP_LATE);
          continue;
        }
        this.#startBatchFor(LATE, wanted, false, batch, out);
        this.#pauseLate(wanted, batch, nowMs);
      } else {
        const action = policy.rescue(queues.length(LATE), leftMs);
        if (action === GIVE_UP) {
          out.drop(0, queues.take(LATE), DROP_LATE);
          continue;
        }
        this.#startBatch(LATE, action, out);
        this.#pauseLate(policy.variant(action), policy.batch(action), nowMs);
      }
    }
  }

  #pauseLate(variant: number, batch: number, nowMs: number): void {
    const serviceMs = this.#policy.named.serviceMs(variant, batch);
    this.#latePause.begin(serviceMs * this.pace.poolPace, this.#upCount, nowMs);
  }

  /**
   * Starts a batch of the variant that the query at a position names, if one is in time.
   * @param pace of the worker that would run it.
   */
  #startNamed(position: number, pace: number, nowMs: number, out: CommandBuffer): boolean {
    if (position < 0) return false;
    const queues = this.#queues;
    const variant = queues.wanted(QUEUE, position);
    const slackMs = queues.earliestDeadlineMs(QUEUE, position) - nowMs;
    const queued = queues.namedCount(QUEUE, variant);
    const batch = this.#policy.named.inTime(variant, queued, slackMs / pace);
    if (batch > 0) this.#startBatchFor(QUEUE, variant, false, batch, out);
    return batch > 0;
  }

  #startBatch(queue: number, action: number, out: CommandBuffer): void {
    const policy = this.#policy;
    const queues = this.#queues;
    const variant = policy.variant(action);
    const batch = Math.min(policy.batch(action), queues.length(queue));
    if (queues.isChoosy(queue)) {
      this.#startBatchFor(queue, variant, true, batch, out);
      return;
    }
    const worker = this.#takeIdle();
    out.startBatch(worker, variant, policy.level, queues.length(queue));
    this.#paces.started(worker, variant, batch, this.#upCount - this.#idleCount);
    for (let taken = 0; taken < batch; taken++) out.appendQuery(queues.take(queue));
  }

  /**
   * Starts a batch from a queue in which some queries ask for a variant.
   * @param isOpen whether the policy chose the variant.
   */
  #startBatchFor(
    queue: number,
    variant: number,
    isOpen: boolean,
    batch: number,
    out: CommandBuffer,
  ): void {
    const queued = this.#queues.length(queue);
    const worker = this.#takeIdle();
    out.startBatch(worker, variant, this.#policy.level, queued);
    const taken = this.#queues.takeFor(queue, variant, isOpen, batch, out);
    assert(taken > 0, "a batch holds at least one query");
    this.#paces.started(worker, variant, taken, this.#upCount - this.#idleCount);
  }

  /** If more late queries wait than may, the one that is late the longest goes. */
  #giveUp(out: CommandBuffer): void {
    const queues = this.#queues;
    const deadlineMs = queues.earliestDeadlineMs(QUEUE);
    const wanted = queues.wanted(QUEUE);
    const query = queues.take(QUEUE);
    if (this.#drops) {
      out.drop(0, query, DROP_LATE);
      return;
    }
    if (queues.length(LATE) === this.queueCapacity) out.drop(0, queues.take(LATE), DROP_LATE);
    queues.insert(LATE, query, deadlineMs, wanted);
  }

  /** The fastest idle worker; of equally fast ones that which became idle last. */
  #chooseIdle(): number {
    const { monitor } = this.#paces;
    let next = this.#idleCount - 1;
    if (!monitor.isEven) {
      for (let position = next - 1; position >= 0; position--) {
        const isFaster =
          monitor.meanPaceOf(this.#idle[position]!) < monitor.meanPaceOf(this.#idle[next]!);
        if (isFaster) next = position;
      }
    }
    this.#next = next;
    return this.#idle[next]!;
  }

  #takeIdle(): number {
    const worker = this.#idle[this.#next]!;
    this.#idle.copyWithin(this.#next, this.#next + 1, this.#idleCount);
    this.#idleCount--;
    this.#next = this.#idleCount - 1;
    this.#stateByWorker[worker] = BUSY;
    return worker;
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
