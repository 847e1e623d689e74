import type { RamsisBundle } from "../bundle/schema.ts";
import { assert } from "./assert.ts";
import { ClassLoads } from "./class-loads.ts";
import { type ClassPlan, classPlans, type Line } from "./class-plans.ts";
import {
  type CommandBuffer,
  DROP_LATE,
  DROP_NO_WORKER,
  DROP_QUEUE_FULL,
} from "./command-buffer.ts";
import type { Dispatcher } from "./dispatcher.ts";
import { LevelChoice, POOLED_LEVEL_CHOICE } from "./level-choice.ts";
import { LoadMonitor } from "./load-monitor.ts";
import { GIVE_UP, WAIT } from "./policy.ts";
import { DeadlineQueues } from "./queue.ts";
import { BUSY, DOWN, IDLE, workerStates } from "./worker-states.ts";

/**
 * Late binding where queries are of several classes, each with an SLO of its own. As the level says that the measured load calls for, either all
 * classes wait in one line, the earliest deadline first, or each has a line, a table and a number of workers of its own; but all wait in one line
 * as long as a class brings more than its share, for which its workers are too few. Within a line it decides as `PooledDispatcher` does.
 *
 * Every worker serves every class, so a level that gives a class more workers takes hold as batches end, and a worker that is idle can be lent; a
 * batch counts for the class of its first query. A query is kept by its class, so that nothing is moved when lines become one or part.
 */
export class ClassDispatcher implements Dispatcher {
  readonly workerCount: number;
  readonly queueCapacity: number;
  readonly waitingCapacity: number;
  readonly commandCapacity: number;
  wakeMs = Number.POSITIVE_INFINITY;
  #plans: readonly ClassPlan[];
  #levelChoice: LevelChoice;
  #level: number;
  /** Of the plan of the level those that are followed. */
  #lines: readonly Line[];
  #drops: boolean;
  readonly #monitor = new LoadMonitor();
  readonly #classLoads: ClassLoads;
  readonly #classCount: number;
  /** Of class c: in queue c those that may be served in time, in queue c + #classCount those that were given up. */
  readonly #queues: DeadlineQueues;
  readonly #stateByWorker: Uint8Array;
  /** Of a busy worker: the class that its batch counts for. */
  readonly #classByWorker: Uint8Array;
  readonly #busyByClass: Uint32Array;
  /** The idle workers, the one that became so last on top: it has the model in its cache. */
  readonly #idle: Uint32Array;
  #idleCount = 0;
  #upCount = 0;
  /** Of each line that is followed: 1 once nothing more starts from it now. */
  readonly #closed: Uint8Array;

  /** @throws Error if the bundle contradicts itself. */
  constructor(bundle: RamsisBundle, ready: boolean) {
    this.#classCount = bundle.slo.classes?.length ?? 1;
    this.#plans = classPlans(bundle);
    this.#levelChoice = levelChoiceOf(bundle);
    this.#classLoads = new ClassLoads(bundle);
    this.#level = this.#plans.length - 1;
    this.#lines = this.#plans[this.#level]!.together;
    this.#drops = bundle.policy.drop;
    this.#stateByWorker = workerStates(bundle, ready);
    this.workerCount = this.#stateByWorker.length;
    this.queueCapacity = capacityOf(bundle);
    this.waitingCapacity = 2 * this.#classCount * this.queueCapacity;
    this.commandCapacity = this.waitingCapacity + this.workerCount;
    this.#queues = new DeadlineQueues(2 * this.#classCount, this.queueCapacity);
    this.#classByWorker = new Uint8Array(this.workerCount);
    this.#busyByClass = new Uint32Array(this.#classCount);
    this.#idle = new Uint32Array(this.workerCount);
    this.#closed = new Uint8Array(this.#classCount);
    if (!ready) return;
    this.#upCount = this.workerCount;
    for (let worker = this.workerCount - 1; worker >= 0; worker--) this.#pushIdle(worker);
  }

  onArrival(
    query: number,
    deadlineMs: number,
    nowMs: number,
    out: CommandBuffer,
    sloClass = 0,
  ): void {
    assert(sloClass < this.#classCount, "a query is of a class that there is");
    if (this.#upCount === 0) out.drop(0, query, DROP_NO_WORKER);
    else if (this.#isFull(sloClass)) out.drop(0, query, DROP_QUEUE_FULL);
    else {
      this.#queues.insert(sloClass, query, deadlineMs);
      if (this.#idleCount > 0) this.#startBatches(nowMs, out);
    }
    // Counted last: an arrival that counted itself would see a load higher than the true one.
    this.#monitor.recordArrival(nowMs);
    this.#classLoads.recordArrival(sloClass, nowMs);
  }

  onBatchDone(worker: number, nowMs: number, out: CommandBuffer): void {
    assert(this.#stateByWorker[worker] === BUSY, "a worker that is done was busy");
    this.#stateByWorker[worker] = IDLE;
    this.#busyByClass[this.#classByWorker[worker]!]!--;
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
    else this.#busyByClass[this.#classByWorker[worker]!]!--;
    this.#stateByWorker[worker] = DOWN;
    this.#upCount--;
    if (this.#idleCount === 0) this.wakeMs = Number.POSITIVE_INFINITY;
    if (this.#upCount > 0) return;
    const queues = this.#queues;
    for (let queue = 0; queue < 2 * this.#classCount; queue++) {
      while (queues.length(queue) > 0) out.drop(0, queues.take(queue), DROP_NO_WORKER);
    }
  }

  onCancel(query: number): boolean {
    const waited = this.#queues.remove(query);
    let waiting = 0;
    for (let sloClass = 0; sloClass < this.#classCount; sloClass++) {
      waiting += this.#queues.length(sloClass);
    }
    if (waiting === 0) this.wakeMs = Number.POSITIVE_INFINITY;
    return waited;
  }

  replaceBundle(bundle: RamsisBundle): void {
    if (capacityOf(bundle) !== this.queueCapacity) throw new RangeError("queues keep their size");
    this.#plans = classPlans(bundle);
    this.#levelChoice = levelChoiceOf(bundle);
    this.#classLoads.replaceBundle(bundle);
    this.#level = this.#plans.length - 1;
    this.#lines = this.#plans[this.#level]!.together;
    this.#drops = bundle.policy.drop;
  }

  loadQps(nowMs: number): number {
    return this.#monitor.loadQps(nowMs);
  }

  /** Whether a line has as many queries of this class, or together, as it holds. */
  #isFull(sloClass: number): boolean {
    if (this.#queues.length(sloClass) === this.queueCapacity) return true;
    const line = this.#lines[this.#lines.length === 1 ? 0 : sloClass]!;
    return this.#length(line, 0) >= line.capacity;
  }

  /** Chooses the level, and whether classes wait together. */
  #follow(nowMs: number): readonly Line[] {
    const monitor = this.#monitor;
    const loadQps = monitor.loadQps(nowMs);
    const level = this.#levelChoice.update(loadQps, monitor.windowMs(nowMs), nowMs);
    const exceed = this.#classLoads.exceed(level, nowMs);
    const { together, apart } = this.#plans[level]!;
    this.#level = level;
    this.#lines = apart === null || exceed ? together : apart;
    return this.#lines;
  }

  /** Decides as long as a worker is free and a line has something to start. */
  #startBatches(nowMs: number, out: CommandBuffer): void {
    this.wakeMs = Number.POSITIVE_INFINITY;
    if (this.#idleCount === 0) return;
    const lines = this.#follow(nowMs);
    this.#closed.fill(0);
    while (this.#idleCount > 0) {
      const index = this.#nextLine(lines);
      if (index < 0) break;
      if (!this.#mayStart(lines, lines[index]!) || !this.#serve(lines[index]!, nowMs, out)) {
        this.#closed[index] = 1;
      }
    }
    for (let index = 0; index < lines.length; index++) {
      const line = lines[index]!;
      if (this.#closed[index] === 1) continue;
      while (this.#idleCount > 0 && this.#hasClaim(line)) {
        const late = this.#length(line, this.#classCount);
        if (late === 0) break;
        this.#startBatch(line, this.#classCount, line.policy.rescue(late), out);
      }
    }
  }

  /** The line with the earliest deadline of those that are not closed; on ties the first. @returns its index, or -1. */
  #nextLine(lines: readonly Line[]): number {
    let next = -1;
    let earliestMs = Number.POSITIVE_INFINITY;
    for (let index = 0; index < lines.length; index++) {
      if (this.#closed[index] === 1) continue;
      const queue = this.#firstQueue(lines[index]!, 0);
      if (queue < 0) continue;
      const deadlineMs = this.#queues.earliestDeadlineMs(queue);
      if (next >= 0 && deadlineMs >= earliestMs) continue;
      next = index;
      earliestMs = deadlineMs;
    }
    return next;
  }

  /**
   * Whether a line may have one more batch under way: while it has fewer than workers, and then as long as every other line that has a claim to one
   * more finds a worker idle. So what is idle is lent, and nobody waits for what was lent but for a second query that comes at once.
   */
  #mayStart(lines: readonly Line[], line: Line): boolean {
    if (this.#hasClaim(line)) return true;
    let claims = 0;
    for (let index = 0; index < lines.length; index++) {
      if (lines[index] !== line && this.#hasClaim(lines[index]!)) claims++;
    }
    return this.#idleCount > claims;
  }

  /** Whether a line has fewer batches under way than its share of the workers that are up. */
  #hasClaim({ first, end, workers }: Line): boolean {
    let busy = 0;
    for (let sloClass = first; sloClass < end; sloClass++) busy += this.#busyByClass[sloClass]!;
    return busy < Math.ceil((workers * this.#upCount) / this.workerCount);
  }

  /** Starts or gives up what is first in a line that is not empty. @returns false if it waits instead. */
  #serve(line: Line, nowMs: number, out: CommandBuffer): boolean {
    const { policy } = line;
    const queue = this.#firstQueue(line, 0);
    const deadlineMs = this.#queues.earliestDeadlineMs(queue);
    if (deadlineMs < nowMs + policy.leastSlackMs) {
      out.drop(0, this.#queues.take(queue), DROP_LATE);
      return true;
    }
    const queued = this.#length(line, 0);
    const action = policy.decide(queued, deadlineMs - nowMs, nowMs);
    if (action === WAIT) {
      const wakeMs = nowMs + policy.waitMs(queued, deadlineMs - nowMs);
      this.wakeMs = Math.min(this.wakeMs, wakeMs);
      return false;
    }
    if (action === GIVE_UP) this.#giveUp(queue, deadlineMs, out);
    else this.#startBatch(line, 0, action, out);
    return true;
  }

  /** @param offset 0 for those that may be in time, the number of classes for the late. */
  #startBatch(line: Line, offset: number, action: number, out: CommandBuffer): void {
    const { policy } = line;
    const worker = this.#idle[--this.#idleCount]!;
    const batch = Math.min(policy.batch(action), this.#length(line, offset));
    assert(batch > 0, "a batch holds at least one query");
    const sloClass = this.#firstQueue(line, offset) - offset;
    this.#classByWorker[worker] = sloClass;
    this.#busyByClass[sloClass]!++;
    this.#stateByWorker[worker] = BUSY;
    out.startBatch(worker, policy.variant(action), this.#level);
    for (let taken = 0; taken < batch; taken++) {
      out.appendQuery(this.#queues.take(this.#firstQueue(line, offset)));
    }
  }

  /** Of more late queries of a class than may wait, the one that is late the longest goes. */
  #giveUp(sloClass: number, deadlineMs: number, out: CommandBuffer): void {
    const queues = this.#queues;
    const query = queues.take(sloClass);
    if (this.#drops) {
      out.drop(0, query, DROP_LATE);
      return;
    }
    const late = sloClass + this.#classCount;
    if (queues.length(late) === this.queueCapacity) out.drop(0, queues.take(late), DROP_LATE);
    queues.insert(late, query, deadlineMs);
  }

  /** The queue of a line with the earliest deadline; on ties the first. @returns -1 if all are empty. */
  #firstQueue({ first, end }: Line, offset: number): number {
    const queues = this.#queues;
    let found = -1;
    let earliestMs = Number.POSITIVE_INFINITY;
    for (let queue = first + offset; queue < end + offset; queue++) {
      if (queues.length(queue) === 0) continue;
      const deadlineMs = queues.earliestDeadlineMs(queue);
      if (found >= 0 && deadlineMs >= earliestMs) continue;
      found = queue;
      earliestMs = deadlineMs;
    }
    return found;
  }

  #length({ first, end }: Line, offset: number): number {
    let length = 0;
    for (let queue = first + offset; queue < end + offset; queue++) {
      length += this.#queues.length(queue);
    }
    return length;
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

function levelChoiceOf({ levels }: RamsisBundle): LevelChoice {
  const loads = Float64Array.from(levels, ({ loadQps }) => loadQps);
  return new LevelChoice(loads, POOLED_LEVEL_CHOICE);
}

/** Queries of one class that may wait: as many as any line holds. */
function capacityOf({ decisionSpace, classSpaces = [] }: RamsisBundle): number {
  return 1 + Math.max(decisionSpace.maxQueue, ...classSpaces.map(({ maxQueue }) => maxQueue));
}
