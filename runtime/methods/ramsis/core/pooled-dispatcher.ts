/** Dispatcher whose workers share the waiting queries. */
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
import { ANY_VARIANT, isNamed } from "../../../core/wanted-variant.ts";
import type { Dispatcher } from "./dispatcher.ts";
import { LatePause } from "./late-pause.ts";
import { DividedLevels, type Line, lineOf } from "./line-levels.ts";
import { IN_TIME, type Kind, LATE, LineQueues } from "./line-queues.ts";
import { fastestServiceMs, GIVE_UP, type Policy, WAIT } from "./policy.ts";
import { ClassWorkers, KeptWorkers, type PaceOptions, WorkerPaces } from "./workers.ts";

/**
 * Queries wait in lines, and one is bound to a worker only when a batch starts. Whenever a worker
 * is free and queries wait, the policy of their line says which batch to start, or to wait for more
 * of them; it is asked again with the next event, or when the slack has fallen so far that it acts.
 * Under more load than the workers can carry it gives up queries, so that the others are served in
 * time and not all of them late.
 *
 * There is one line for all queries, unless they are of several classes, each with an SLO of its
 * own. As the level says that the measured load calls for, either all classes wait in one line, the
 * earliest deadline first, or each has a line, a table and a number of workers of its own; but all
 * wait in one line as long as a class brings more than its share, for which its workers are too
 * few. Queries of several buckets, which are not batched together, have a line each that all
 * workers serve, the earliest deadline first; while one waits for more queries a worker is kept for
 * it. What is said of classes below holds for buckets.
 *
 * Every worker serves every class, so a level that gives a class more workers takes hold as batches
 * end, and a worker that is idle can be lent; a batch counts for the class of its first query. A
 * query is kept by its class, so that nothing is moved when lines become one or part.
 *
 * Queries that ask for one variant wait in the same line. When such a query is the first, or while
 * the policy waits with those before it, a batch of that variant is started, of those only who ask
 * for it, as large as is in time.
 */
export class PooledDispatcher implements Dispatcher {
  readonly workerCount: number;
  readonly queueCapacity: number;
  readonly waitingCapacity: number;
  readonly commandCapacity: number;
  wakeMs = Number.POSITIVE_INFINITY;
  /** Chooses the lines of classes or buckets; null where all queries are alike. */
  readonly #divided: DividedLevels | null;
  /** Lines that are followed now. */
  #lines: readonly Line[];
  #drops: boolean;
  /** A late query is answered so long after its deadline or dropped; infinite without a bound. */
  #lateMs = Number.POSITIVE_INFINITY;
  #fastestMs = 0;
  /** Pause per line, indexed by its first class. */
  readonly #latePauses: readonly LatePause[];
  readonly #classCount: number;
  readonly #queues: LineQueues;
  readonly #workers: ClassWorkers;
  readonly #paces: WorkerPaces;
  /** Null where no worker is kept for a line that waits. */
  readonly #kept: KeptWorkers | null;
  /** Queries that arrive at once, so far, and their class. */
  #jointCount = 0;
  #jointClass = 0;
  /** Flag per followed line: 1 once nothing more starts from it in this event. */
  readonly #closed: Uint8Array;

  /** @throws Error if the bundle contradicts itself. */
  constructor(bundle: RamsisBundle, ready: boolean, options: PaceOptions = {}) {
    this.#classCount = (bundle.slo.classes ?? bundle.buckets)?.length ?? 1;
    this.#drops = bundle.policy.drop;
    this.#boundLate(bundle);
    this.#workers = new ClassWorkers(bundle, this.#classCount, ready);
    this.#paces = new WorkerPaces(bundle, this.#workers.count, ready, options);
    const isDivided = bundle.slo.classes !== undefined || bundle.buckets !== undefined;
    this.#divided = isDivided ? new DividedLevels(bundle, this.#workers.count) : null;
    this.#lines = this.#divided?.lines ?? [lineOf(bundle, 0, 1, this.#workers.count)];
    this.#kept = bundle.buckets === undefined ? null : new KeptWorkers();
    this.workerCount = this.#workers.count;
    this.queueCapacity = capacityOf(bundle);
    this.waitingCapacity = 2 * this.#classCount * this.queueCapacity;
    this.commandCapacity = this.waitingCapacity + this.workerCount;
    this.#queues = new LineQueues(this.#classCount, this.queueCapacity);
    this.#closed = new Uint8Array(this.#classCount);
    this.#latePauses = Array.from({ length: this.#classCount }, () => new LatePause());
  }

  get pace(): PaceMonitor {
    return this.#paces.monitor;
  }

  /** Never true with classes: the class of a request is known only once it was read. */
  isFull(): boolean {
    return this.#classCount === 1 && this.#workers.upCount > 0 && this.#isFull(0);
  }

  onArrival(
    query: number,
    deadlineMs: number,
    nowMs: number,
    out: CommandBuffer,
    sloClass = 0,
  ): void {
    this.#insert(query, deadlineMs, ANY_VARIANT, nowMs, out, sloClass);
    // Counted last: an arrival that counted itself would see a load higher than the true one.
    this.#recordArrival(sloClass, nowMs, 1);
  }

  onJointArrival(
    query: number,
    deadlineMs: number,
    wanted: number,
    nowMs: number,
    out: CommandBuffer,
    asked = 0,
  ): void {
    const sloClass = this.#classOf(asked);
    const queues = this.#queues;
    this.#jointCount++;
    this.#jointClass = sloClass;
    if (this.#workers.upCount === 0) {
      out.drop(0, query, DROP_NO_WORKER);
      return;
    }
    if (this.#isFull(sloClass)) this.#makeRoom(sloClass, nowMs, out);
    if (this.#isFull(sloClass)) out.drop(0, query, DROP_QUEUE_FULL);
    else queues.insert(sloClass, IN_TIME, query, deadlineMs, queues.arrivingWanted(wanted));
  }

  onJointEnd(nowMs: number, out: CommandBuffer): void {
    if (this.#workers.idleCount > 0) this.#startBatches(nowMs, out);
    else this.#wakeForDue(this.#earliestMs(), nowMs);
    if (this.#jointCount > 0) this.#recordArrival(this.#jointClass, nowMs, this.#jointCount);
    this.#jointCount = 0;
    this.#queues.endArrivals();
  }

  onRefused(queries: number, nowMs: number, sloClass = 0): void {
    this.#recordArrival(sloClass, nowMs, queries);
  }

  onBatchDone(worker: number, nowMs: number, out: CommandBuffer, ranMs = Number.NaN): void {
    this.#paces.done(worker, ranMs, this.#busyCount, nowMs);
    this.#workers.onBatchDone(worker);
    this.#startBatches(nowMs, out);
  }

  onWake(nowMs: number, out: CommandBuffer): void {
    this.#startBatches(nowMs, out);
  }

  onWorkerReady(worker: number, nowMs: number, out: CommandBuffer): void {
    this.#workers.onReady(worker);
    this.pace.onReady(worker);
    this.#startBatches(nowMs, out);
  }

  onWorkerLost(worker: number, nowMs: number, out: CommandBuffer): void {
    this.#workers.onLost(worker);
    this.pace.onLost(worker);
    // Its batch no longer counts, so its class may have a claim to an idle worker.
    if (this.#classCount > 1 || this.#workers.idleCount === 0) this.#startBatches(nowMs, out);
    if (this.#workers.upCount > 0) return;
    for (let sloClass = 0; sloClass < this.#classCount; sloClass++) {
      this.#dropAll(sloClass, IN_TIME, out);
      this.#dropAll(sloClass, LATE, out);
    }
  }

  onRetry(
    query: number,
    deadlineMs: number,
    wanted: number,
    nowMs: number,
    out: CommandBuffer,
    sloClass = 0,
  ): void {
    this.#insert(query, deadlineMs, wanted, nowMs, out, sloClass);
  }

  onCancel(query: number): boolean {
    const waited = this.#queues.remove(query);
    let waiting = 0;
    for (let index = 0; index < this.#lines.length; index++) {
      const line = this.#lines[index]!;
      waiting += this.#queues.length(line, IN_TIME) + this.#queues.length(line, LATE);
    }
    if (waiting === 0) this.wakeMs = Number.POSITIVE_INFINITY;
    return waited;
  }

  replaceBundle(bundle: RamsisBundle): void {
    if (capacityOf(bundle) !== this.queueCapacity) throw new RangeError("queues keep their size");
    if (this.#divided === null) this.#lines[0]!.policy.replaceBundle(bundle);
    else {
      this.#divided.replaceBundle(bundle);
      this.#lines = this.#divided.lines;
    }
    this.#paces.replaceBundle(bundle);
    this.#drops = bundle.policy.drop;
    this.#boundLate(bundle);
  }

  onShare(share: LoadShare): void {
    if (this.#divided === null) this.#lines[0]!.policy.follow(share);
    else this.#divided.onShare(share);
    this.pace.share(share.workers);
  }

  seenLoad(nowMs: number): SeenLoad {
    return (this.#divided ?? this.#lines[0]!.policy).seenLoad(nowMs);
  }

  loadQps(nowMs: number): number {
    return (this.#divided ?? this.#lines[0]!.policy).loadQps(nowMs);
  }

  #boundLate(bundle: RamsisBundle): void {
    this.#lateMs = bundle.policy.lateMs ?? Number.POSITIVE_INFINITY;
    this.#fastestMs = fastestServiceMs(bundle);
  }

  #recordArrival(sloClass: number, nowMs: number, queries: number): void {
    if (this.#divided === null) this.#lines[0]!.policy.recordArrival(nowMs, queries);
    else this.#divided.recordArrival(sloClass, nowMs, queries);
  }

  /**
   * Returns the class of a query; without classes all queries are of one, whatever the driver says.
   */
  #classOf(sloClass: number): number {
    if (this.#classCount === 1) return 0;
    assert(sloClass < this.#classCount, "a query is of a known class");
    return sloClass;
  }

  /** Queues a query that may start at once, or gives it up. */
  #insert(
    query: number,
    deadlineMs: number,
    wanted: number,
    nowMs: number,
    out: CommandBuffer,
    asked: number,
  ): void {
    const sloClass = this.#classOf(asked);
    if (this.#workers.upCount === 0) out.drop(0, query, DROP_NO_WORKER);
    else if (this.#isFull(sloClass)) out.drop(0, query, DROP_QUEUE_FULL);
    else {
      this.#queues.insert(sloClass, IN_TIME, query, deadlineMs, wanted);
      if (this.#workers.idleCount > 0) this.#startBatches(nowMs, out);
      else this.#wakeForDue(deadlineMs, nowMs);
    }
  }

  #lineOf(sloClass: number): Line {
    return this.#lines[this.#lines.length === 1 ? 0 : sloClass]!;
  }

  /** Whether a line is full, for this class or in total. */
  #isFull(sloClass: number): boolean {
    if (this.#queues.isFull(sloClass, IN_TIME)) return true;
    if (this.#classCount === 1) return false;
    const line = this.#lineOf(sloClass);
    return this.#queues.length(line, IN_TIME) >= line.capacity;
  }

  /**
   * Lets the line of a class decide, as long as a worker is free for it, until it holds one query
   * more.
   */
  #makeRoom(sloClass: number, nowMs: number, out: CommandBuffer): void {
    if (this.#workers.idleCount === 0) return;
    this.#dropAllDue(nowMs, out);
    this.wakeMs = Number.POSITIVE_INFINITY;
    this.#follow(nowMs);
    const line = this.#lineOf(sloClass);
    while (this.#workers.idleCount > 0 && this.#isFull(sloClass)) {
      this.#workers.choose(this.pace);
      if (!this.#mayStart(line) || !this.#serve(line, nowMs, out)) return;
    }
  }

  /** Chooses the level, and whether classes wait together. */
  #follow(nowMs: number): void {
    const { monitor } = this.#paces;
    monitor.look(nowMs);
    if (this.#divided === null) return;
    this.#kept?.begin();
    this.#divided.follow(nowMs, monitor);
    this.#lines = this.#divided.lines;
  }

  /** Schedules the drop of a waiting query. @param deadlineMs of the earliest one. */
  #wakeForDue(deadlineMs: number, nowMs: number): void {
    this.wakeMs = Math.min(this.wakeMs, Math.max(nowMs, this.#dueMs(deadlineMs)));
  }

  #startBatches(nowMs: number, out: CommandBuffer): void {
    this.#dropAllDue(nowMs, out);
    this.wakeMs = Number.POSITIVE_INFINITY;
    this.#decide(nowMs, out);
    this.#wakeForDue(this.#earliestMs(), nowMs);
  }

  /** Drops the queries that no batch can answer within the bound any more. */
  #dropAllDue(nowMs: number, out: CommandBuffer): void {
    for (let sloClass = 0; sloClass < this.#classCount; sloClass++) {
      this.#dropDue(sloClass, IN_TIME, nowMs, out);
      this.#dropDue(sloClass, LATE, nowMs, out);
    }
  }

  #dropDue(sloClass: number, kind: Kind, nowMs: number, out: CommandBuffer): void {
    const queues = this.#queues;
    while (this.#dueMs(queues.deadlineMs(sloClass, kind)) <= nowMs) {
      out.drop(0, queues.take(sloClass, kind), DROP_LATE);
    }
  }

  /**
   * Returns when a query with this deadline is dropped, if it still waits: not even the fastest
   * variant answers it within the bound then.
   */
  #dueMs(deadlineMs: number): number {
    return deadlineMs + this.#lateMs - this.#fastestMs;
  }

  /** Returns the earliest deadline of all waiting queries; infinite without any. */
  #earliestMs(): number {
    const queues = this.#queues;
    let deadlineMs = Number.POSITIVE_INFINITY;
    for (let sloClass = 0; sloClass < this.#classCount; sloClass++) {
      const inTimeMs = queues.deadlineMs(sloClass, IN_TIME);
      deadlineMs = Math.min(deadlineMs, inTimeMs, queues.deadlineMs(sloClass, LATE));
    }
    return deadlineMs;
  }

  /** Decides as long as a worker is free and a line has something to start. */
  #decide(nowMs: number, out: CommandBuffer): void {
    // The levels of classes are chosen when a worker is free; a single line looks at any event.
    if (this.#workers.idleCount === 0 && this.#classCount > 1) return;
    this.#follow(nowMs);
    const lines = this.#lines;
    if (lines.length === 1) {
      const line = lines[0]!;
      while (this.#workers.idleCount > 0 && this.#queues.length(line, IN_TIME) > 0) {
        if (!this.#serve(line, nowMs, out)) return;
      }
      this.#startLate(line, nowMs, out);
      return;
    }
    this.#closed.fill(0);
    while (this.#workers.idleCount > 0) {
      const index = this.#nextLine(lines);
      if (index < 0) break;
      const line = lines[index]!;
      if (!this.#mayStart(line) || !this.#serve(line, nowMs, out)) this.#closed[index] = 1;
    }
    for (let index = 0; index < lines.length; index++) {
      if (this.#closed[index] === 0) this.#startLate(lines[index]!, nowMs, out);
    }
  }

  /** Returns the index of the open line with the earliest deadline, the first on ties, or −1. */
  #nextLine(lines: readonly Line[]): number {
    let next = -1;
    let earliestMs = Number.POSITIVE_INFINITY;
    for (let index = 0; index < lines.length; index++) {
      if (this.#closed[index] === 1) continue;
      const sloClass = this.#queues.firstClass(lines[index]!, IN_TIME);
      if (sloClass < 0) continue;
      const deadlineMs = this.#queues.deadlineMs(sloClass, IN_TIME);
      if (next >= 0 && deadlineMs >= earliestMs) continue;
      next = index;
      earliestMs = deadlineMs;
    }
    return next;
  }

  /**
   * Whether a line may start one more batch: while it has fewer than its share of workers, and then
   * as long as every other line with a claim to one more finds a worker idle. So idle workers are
   * lent, and only a second query that arrives at once may have to wait for a lent worker.
   */
  #mayStart(line: Line): boolean {
    if (this.#hasClaim(line)) return true;
    let claims = 0;
    for (let index = 0; index < this.#lines.length; index++) {
      if (this.#lines[index] !== line && this.#hasClaim(this.#lines[index]!)) claims++;
    }
    return this.#workers.idleCount > claims;
  }

  /** Whether a line has fewer batches under way than its share of the workers that are up. */
  #hasClaim(line: Line): boolean {
    return this.#workers.busyCount(line) < this.#shareOf(line);
  }

  /** Share of the workers that are up that a line may keep busy at a time. */
  #shareOf(line: Line): number {
    const { upCount, count } = this.#workers;
    return Math.ceil((line.workers * upCount) / count);
  }

  /**
   * Starts or gives up the first query of a line that is not empty. @returns false if it waits
   * instead.
   */
  #serve(line: Line, nowMs: number, out: CommandBuffer): boolean {
    const { policy } = line;
    const queues = this.#queues;
    const { monitor } = this.#paces;
    const worker = this.#workers.choose(monitor);
    const pace = monitor.paceOf(worker);
    // A straggler serves what it can in time and leaves the rest to the others.
    const isStraggler = !monitor.isEven && monitor.isStraggler(worker);
    const sloClass = queues.firstClass(line, IN_TIME);
    const deadlineMs = queues.deadlineMs(sloClass, IN_TIME);
    if (deadlineMs < nowMs + policy.leastSlackMs(ANY_VARIANT, pace)) {
      if (isStraggler) return false;
      this.#giveUp(sloClass, out);
      return true;
    }
    const isChoosy = queues.isChoosy(line, IN_TIME);
    if (isChoosy && isNamed(queues.wanted(sloClass, IN_TIME))) {
      if (this.#startNamed(line, pace, nowMs, out)) return true;
      if (isStraggler) return false;
      // A query that cannot be in time any more is given up: dropped, or served after all others.
      this.#giveUp(sloClass, out);
      return true;
    }
    const queued = queues.length(line, IN_TIME);
    const slackMs = deadlineMs - nowMs;
    const slackPace = this.#divided === null ? pace : pace / this.#divided.pace;
    const action = policy.decide(queued, slackMs, nowMs, slackPace, monitor);
    if (action === WAIT) {
      if (isChoosy && this.#startNamed(line, pace, nowMs, out)) return true;
      const actMs = nowMs + policy.waitMs(slackMs);
      this.wakeMs = Math.min(this.wakeMs, actMs);
      this.#kept?.keep(actMs);
      return false;
    }
    if (action === GIVE_UP) {
      if (isStraggler) return false;
      this.#giveUp(sloClass, out);
    } else {
      // It is asked again when the queue acts that the worker is kept for.
      if (this.#kept !== null && !this.#mayRun(this.#kept, policy, action, pace, nowMs))
        return false;
      this.#startBatch(line, IN_TIME, action, out);
    }
    return true;
  }

  #mayRun(kept: KeptWorkers, policy: Policy, action: number, pace: number, nowMs: number): boolean {
    if (kept.isFree) return true;
    const serviceMs = policy.named.serviceMs(policy.variant(action), policy.batch(action));
    return kept.mayTake(this.#workers.idleCount, nowMs + serviceMs * pace);
  }

  #startLate(line: Line, nowMs: number, out: CommandBuffer): void {
    const { policy } = line;
    const queues = this.#queues;
    if (queues.length(line, LATE) === 0) return;
    const share = this.#shareOf(line);
    const pause = this.#latePauses[line.first]!;
    while (this.#workers.idleCount > 0 && this.#hasClaim(line)) {
      if (this.#kept?.mayTake(this.#workers.idleCount, Number.POSITIVE_INFINITY) === false) return;
      const sloClass = queues.firstClass(line, LATE);
      if (sloClass < 0) return;
      const startMs = pause.endMs(share - this.#workers.busyCount(line), share, nowMs);
      if (startMs > nowMs) {
        this.wakeMs = Math.min(this.wakeMs, startMs);
        return;
      }
      const pace = this.pace.paceOf(this.#workers.choose(this.pace));
      const leftMs = (queues.deadlineMs(sloClass, LATE) + this.#lateMs - nowMs) / pace;
      const wanted = queues.wanted(sloClass, LATE);
      if (isNamed(wanted)) {
        const batch = policy.named.late(wanted, queues.namedCount(line, LATE, wanted), leftMs);
        if (batch === 0) {
          out.drop(0, queues.take(sloClass, LATE), DROP_LATE);
          continue;
        }
        this.#startBatchFor(line, LATE, wanted, false, batch, out);
        pause.begin(policy.named.serviceMs(wanted, batch) * this.pace.poolPace, share, nowMs);
      } else {
        const action = policy.rescue(queues.length(line, LATE), leftMs);
        if (action === GIVE_UP) {
          out.drop(0, queues.take(sloClass, LATE), DROP_LATE);
          continue;
        }
        this.#startBatch(line, LATE, action, out);
        const serviceMs = policy.named.serviceMs(policy.variant(action), policy.batch(action));
        pause.begin(serviceMs * this.pace.poolPace, share, nowMs);
      }
    }
  }

  /**
   * Starts a batch of the variant that the first query names which names one, if one is in time.
   */
  #startNamed(line: Line, pace: number, nowMs: number, out: CommandBuffer): boolean {
    const queues = this.#queues;
    if (!queues.findNamed(line, IN_TIME)) return false;
    const variant = queues.foundWanted;
    const slackMs = queues.foundDeadlineMs - nowMs;
    const queued = queues.namedCount(line, IN_TIME, variant);
    const batch = line.policy.named.inTime(variant, queued, slackMs / pace);
    if (batch > 0) this.#startBatchFor(line, IN_TIME, variant, false, batch, out);
    return batch > 0;
  }

  #startBatch(line: Line, kind: Kind, action: number, out: CommandBuffer): void {
    const { policy } = line;
    this.#startBatchFor(line, kind, policy.variant(action), true, policy.batch(action), out);
  }

  /** @param isOpen whether the policy chose the variant. */
  #startBatchFor(
    line: Line,
    kind: Kind,
    variant: number,
    isOpen: boolean,
    most: number,
    out: CommandBuffer,
  ): void {
    const worker = this.#workers.take();
    const level = this.#divided?.level ?? line.policy.level;
    out.startBatch(worker, variant, level, this.#queues.length(line, kind));
    const taken = this.#queues.takeFor(line, kind, variant, isOpen, most, out);
    assert(taken > 0, "a batch holds at least one query");
    const sloClass = this.#queues.takenClass;
    this.#workers.assign(worker, sloClass);
    this.#paces.started(worker, variant, taken, this.#busyCount, sloClass);
  }

  get #busyCount(): number {
    return this.#workers.upCount - this.#workers.idleCount;
  }

  /** Gives up the latest query of a class if too many late ones wait. */
  #giveUp(sloClass: number, out: CommandBuffer): void {
    const queues = this.#queues;
    const deadlineMs = queues.deadlineMs(sloClass, IN_TIME);
    const wanted = queues.wanted(sloClass, IN_TIME);
    const query = queues.take(sloClass, IN_TIME);
    if (this.#drops) {
      out.drop(0, query, DROP_LATE);
      return;
    }
    if (queues.isFull(sloClass, LATE)) out.drop(0, queues.take(sloClass, LATE), DROP_LATE);
    queues.insert(sloClass, LATE, query, deadlineMs, wanted);
  }

  #dropAll(sloClass: number, kind: Kind, out: CommandBuffer): void {
    const queues = this.#queues;
    const span = { first: sloClass, end: sloClass + 1 };
    while (queues.length(span, kind) > 0) {
      out.drop(0, queues.take(sloClass, kind), DROP_NO_WORKER);
    }
  }
}

/** Maximum number of waiting queries of one class. */
function capacityOf({ decisionSpace, classSpaces, buckets = [] }: RamsisBundle): number {
  const spaces = classSpaces ?? buckets;
  return 1 + Math.max(decisionSpace.maxQueue, ...spaces.map(({ maxQueue }) => maxQueue));
}
