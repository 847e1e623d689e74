/** Dispatcher of Themis. */
import type { ThemisBundle } from "../../../bundle/schema.ts";
import { assert } from "../../../core/assert.ts";
import { beatMsOf } from "../../../core/beat.ts";
import {
  type CommandBuffer,
  DROP_LATE,
  DROP_NO_WORKER,
  DROP_QUEUE_FULL,
} from "../../../core/command-buffer.ts";
import { decisionSloMs } from "../../../core/decision-slo.ts";
import { DemandMonitor } from "../../../core/graph/demand-monitor.ts";
import { LinkedQueues } from "../../../core/graph/linked-queues.ts";
import type {
  PipelineDispatcher,
  PipelineDispatcherOptions,
  ResizedPipeline,
} from "../../../core/graph/pipeline-dispatcher.ts";
import { NONE } from "../../../core/graph/pipeline-shape.ts";
import { ReplicaFleet } from "../../../core/graph/replica-fleet.ts";
import { ReplicaKeeper } from "../../../core/graph/replica-keeper.ts";
import { busyNames } from "../../../core/graph/replica-shape.ts";
import { IDLE } from "../../../core/graph/worker-fleet.ts";
import type { LoadShare, SeenLoad } from "../../../core/load-share.ts";
import type { PaceMonitor } from "../../../core/pace.ts";
import { type FleetController, firstLevel, ThemisController } from "./controller.ts";
import { type ThemisDemand, themisDemandOf, topLevel } from "./demand.ts";
import { InstanceCores } from "./instance-cores.ts";
import { type InstancePaceOptions, InstancePaces } from "./instance-paces.ts";
import { type ThemisShape, themisShapeOf } from "./shape.ts";
import { ASSIGNED, HELD, READY, TARGET_CORES, TARGETS, TaskSums } from "./task-sums.ts";
import { WayAhead } from "./way-ahead.ts";

export interface ThemisDispatcherOptions extends PipelineDispatcherOptions, InstancePaceOptions {
  /** Index of a level to follow regardless of the traffic. */
  readonly level?: number;
  /** Replaces the bundle's controller; levels then only bound the number of instances. */
  readonly controller?: FleetController;
}

/**
 * Numbers of instances and their cores, for operators of the cluster. Arrays are by task, live, not
 * copies.
 */
export interface ThemisGauges {
  /** Target instances, and cores of each once it is up. */
  readonly targetsByTask: Uint32Array;
  readonly targetCoresByTask: Uint32Array;
  /**
   * Instances, including those that come up and those that leave after a last batch; and those that
   * are up.
   */
  readonly assignedByTask: Uint32Array;
  readonly readyByTask: Uint32Array;
  /** Cores that instances hold: the larger of current and target cores. */
  readonly coresByTask: Uint32Array;
  /** Level whose plan is being moved to, or is in force. */
  readonly goal: number;
  /** Bursts that were met with cores, and plans that were settled on. */
  readonly burstCount: number;
  readonly settledCount: number;
}

export interface ThemisDispatcher extends PipelineDispatcher, ResizedPipeline, ThemisGauges {
  /**
   * Requests of each of the last 60 beats at the last look, oldest first, NaN before the start:
   * input of the driver's forecast.
   */
  readonly perBeat: Float64Array;
  readonly beatMs: number;
  /** Service times of instances, relative to the profile. */
  readonly pace: PaceMonitor;
  /** Looks at the traffic so far: after one a driver that makes forecasts makes another. */
  readonly lookCount: number;
}

/**
 * The dispatcher of a validated bundle; no worker is up yet.
 * @throws Error if the bundle contradicts itself.
 */
export function themisDispatcherOf(
  bundle: ThemisBundle,
  options: ThemisDispatcherOptions,
): ThemisDispatcher {
  return new ElasticDispatcher(bundle, options);
}

/**
 * Themis' serving side: a central queue for each task, first in first out, whose idle instances
 * take waiting queries at once, in batches up to the controller's size; the one with most cores
 * first. A query that is too old when its turn comes is dropped, or one that would be by the end of
 * its way. Source: Themis §3.2, §5, §6.3; the rest of the way is ours.
 *
 * Batches start in `onWake` only, after all events of one time, in the order of the tasks.
 */
class ElasticDispatcher implements ThemisDispatcher {
  readonly workerCount: number;
  readonly waitingCapacity: number;
  readonly commandCapacity: number;
  lookCount = 0;
  readonly #shape: ThemisShape;
  readonly #fleet: ReplicaFleet;
  readonly #keeper: ReplicaKeeper;
  readonly #cores: InstanceCores;
  readonly #paces: InstancePaces;
  readonly #queues: LinkedQueues;
  readonly #load: DemandMonitor;
  readonly #demand: ThemisDemand;
  readonly #controller: FleetController;
  readonly #tickMs: number;
  /** How far a query may be past its deadline when its turn comes, or at the end of its way. */
  readonly #graceMs: number;
  /** Null where the rest of the way does not count. */
  readonly #ahead: WayAhead | null;
  /** [queryCapacity] */
  readonly #deadlineMs: Float64Array;
  /**
   * Batch that is being formed: drops come before it, since only the last command can get queries.
   */
  readonly #taken: Uint32Array;
  /**
   * Whether the task has an instance, or will have one of the workers that are up or have yet to
   * come up for the first time, [taskCount].
   */
  readonly #isServable: Uint8Array;
  readonly #sums: TaskSums;
  /** `resizes` and `raises` of the controller when instances were last adjusted. */
  #seenResizes = 0;
  #seenRaises = 0;
  #tickDueMs = Number.POSITIVE_INFINITY;
  #startDueMs = Number.POSITIVE_INFINITY;

  constructor(bundle: ThemisBundle, options: ThemisDispatcherOptions) {
    const { queryCapacity, initialDemandQps = Number.NaN } = options;
    const shape = themisShapeOf(bundle);
    const { taskCount, variantCount, workerCount } = shape;
    this.#shape = shape;
    this.workerCount = workerCount;
    this.waitingCapacity = queryCapacity - busyNames(shape);
    assert(this.waitingCapacity > 0, "query names remain beside those of running queries");
    // One event may drop or start every waiting query, each in a command of its own, and assign or
    // release and resize every worker.
    this.commandCapacity = this.waitingCapacity + 1 + 3 * workerCount;
    this.#fleet = new ReplicaFleet(shape.replicas);
    this.#keeper = new ReplicaKeeper(shape.replicas, this.#fleet);
    this.#cores = new InstanceCores(variantCount, workerCount);
    this.#paces = new InstancePaces(bundle, shape, options);
    this.#sums = new TaskSums(shape);
    this.#queues = new LinkedQueues(taskCount, queryCapacity);
    this.#load = new DemandMonitor(initialDemandQps, beatMsOf(bundle.slo));
    this.#demand = themisDemandOf(bundle, shape);
    const { level = firstLevel(bundle, initialDemandQps) } = options;
    const isFixed = options.level !== undefined || bundle.levels.length === 1;
    this.#controller =
      options.controller ??
      new ThemisController(bundle, shape, isFixed ? null : this.#demand, level);
    const { tickMs, dropAfterSlos, dropRule } = bundle.policy;
    this.#tickMs = tickMs;
    this.#graceMs =
      dropAfterSlos === null
        ? Number.POSITIVE_INFINITY
        : (dropAfterSlos - 1) * decisionSloMs(bundle.cluster, bundle.slo.latencyMs);
    const { readyByTask: readyByVariant } = this.#fleet;
    const { instances, cores, batch } = this.#controller;
    this.#ahead =
      dropRule === "rest"
        ? new WayAhead(shape, {
            queues: this.#queues,
            readyByVariant,
            instances,
            cores,
            batch,
            mayBeRaised: () => {
              return !isFixed && this.#controller.level < topLevel(shape, this.pace.poolPace);
            },
            pace: this.#paces.monitor,
          })
        : null;
    this.#deadlineMs = new Float64Array(queryCapacity);
    this.#taken = new Uint32Array(Math.max(...shape.maxBatchByTaskPool));
    this.#isServable = new Uint8Array(taskCount);
  }

  get pace(): PaceMonitor {
    return this.#paces.monitor;
  }

  get wakeMs(): number {
    return Math.min(this.#startDueMs, this.#tickDueMs);
  }

  get level(): number {
    return this.#controller.level;
  }

  get goal(): number {
    return this.#controller.goal;
  }

  get burstCount(): number {
    return this.#controller.burstCount;
  }

  get settledCount(): number {
    return this.#controller.settledCount;
  }

  get servers(): number {
    return this.#fleet.replicaCount;
  }

  get targetsByTask(): Uint32Array {
    return this.#sums.of(TARGETS, this.#controller.instances);
  }

  get targetCoresByTask(): Uint32Array {
    return this.#sums.mostOf(TARGET_CORES, this.#controller.cores);
  }

  get assignedByTask(): Uint32Array {
    return this.#sums.of(ASSIGNED, this.#fleet.assignedByTask);
  }

  get readyByTask(): Uint32Array {
    return this.#sums.of(READY, this.#fleet.holdingByTask);
  }

  get coresByTask(): Uint32Array {
    return this.#sums.of(HELD, this.#cores.heldByTask);
  }

  get beatMs(): number {
    return this.#demand.beatMs;
  }

  get perBeat(): Float64Array {
    return this.#demand.perBeat;
  }

  onRequest(nowMs: number): boolean {
    this.#load.recordRequest(nowMs);
    this.#demand.onArrival(nowMs);
    if (this.#tickDueMs === Number.POSITIVE_INFINITY) this.#tickDueMs = nowMs + this.#tickMs;
    return true;
  }

  onForecast(qps: number): void {
    this.#demand.onForecast(qps);
  }

  onQuery(
    query: number,
    task: number,
    _parent: number,
    deadlineMs: number,
    nowMs: number,
    out: CommandBuffer,
  ): void {
    if (this.#isServable[task] === 0) out.drop(0, query, DROP_NO_WORKER);
    else if (this.#queues.waiting === this.waitingCapacity) out.drop(0, query, DROP_QUEUE_FULL);
    else {
      this.#deadlineMs[query] = deadlineMs;
      this.#queues.append(task, query);
      if (this.#hasIdle(task)) this.#startDueMs = nowMs;
    }
  }

  onBatchDone(worker: number, nowMs: number, out: CommandBuffer, ranMs = Number.NaN): void {
    const task = this.#taskOf(worker);
    this.#paces.done(worker, ranMs, nowMs);
    if (this.#keeper.finish(worker)) {
      this.#cores.leave(worker);
      this.#settle(nowMs, out);
    } else if (this.#queues.length(task) > 0) this.#startDueMs = nowMs;
  }

  /** Unused: every query is sent on as its edges say. */
  onFanout(): void {}

  onWake(nowMs: number, out: CommandBuffer): void {
    this.pace.look(nowMs);
    if (nowMs >= this.#tickDueMs) this.#tick(nowMs, out);
    this.#startDueMs = Number.POSITIVE_INFINITY;
    const { taskCount } = this.#shape;
    for (let task = 0; task < taskCount; task++) {
      if (this.#isServable[task] === 1) this.#startBatches(task, nowMs, out);
      else this.#dropWaiting(task, out);
    }
  }

  onWorkerReady(worker: number, nowMs: number, out: CommandBuffer): void {
    this.#fleet.comeUp(worker);
    this.#settle(nowMs, out);
  }

  onModelReady(worker: number, nowMs: number, out: CommandBuffer): void {
    this.#fleet.modelReady(worker);
    this.#cores.comeUp(worker);
    if (this.#queues.length(this.#taskOf(worker)) > 0) this.#startDueMs = nowMs;
    this.#review(nowMs, out);
  }

  onResized(worker: number, nowMs: number, out: CommandBuffer): void {
    if (this.#cores.resized(worker)) this.#review(nowMs, out);
  }

  onWorkerLost(worker: number, nowMs: number, out: CommandBuffer): void {
    this.#fleet.goDown(worker);
    if (this.#cores.leave(worker)) this.#controller.lose(this.#seen());
    this.#settle(nowMs, out);
  }

  onRetry(query: number, task: number, nowMs: number, out: CommandBuffer): void {
    if (this.#isServable[task] === 0) out.drop(0, query, DROP_NO_WORKER);
    else if (this.#queues.waiting === this.waitingCapacity) out.drop(0, query, DROP_QUEUE_FULL);
    else {
      this.#queues.insertAfter(NONE, task, query);
      if (this.#hasIdle(task)) this.#startDueMs = nowMs;
    }
  }

  onCancel(query: number): boolean {
    return this.#queues.remove(query);
  }

  loadQps(nowMs: number): number {
    this.#load.advance(nowMs);
    return this.#load.qps;
  }

  seenLoad(nowMs: number): SeenLoad {
    this.#load.advance(nowMs);
    return this.#load.seen;
  }

  onShare(share: LoadShare): void {
    this.#demand.onShare(share);
  }

  #tick(nowMs: number, out: CommandBuffer): void {
    this.#tickDueMs += (Math.floor((nowMs - this.#tickDueMs) / this.#tickMs) + 1) * this.#tickMs;
    this.lookCount++;
    const { poolPace } = this.pace;
    const isChanged = this.#controller.tick(nowMs, this.#queues.waiting, this.#seen(), poolPace);
    if (isChanged) this.#settle(nowMs, out);
  }

  #review(nowMs: number, out: CommandBuffer): void {
    this.#controller.review(this.#seen());
    this.#settle(nowMs, out);
  }

  #seen() {
    return {
      readyByVariant: this.#fleet.readyByTask,
      coresInForceByVariant: this.#cores.least(this.#fleet),
    };
  }

  /**
   * Adjusts the instances to the controller's targets: those that stay are resized before any go,
   * and new ones come with their cores.
   */
  #settle(nowMs: number, out: CommandBuffer): void {
    const controller = this.#controller;
    if (controller.resizes !== this.#seenResizes) {
      this.#cores.resizeAll(controller.cores, this.#fleet, out);
    } else if (controller.raises !== this.#seenRaises) {
      this.#cores.raiseAll(controller.startCores, this.#fleet, out);
    }
    this.#seenResizes = controller.resizes;
    this.#seenRaises = controller.raises;
    this.#keeper.settle(controller.level, controller.instances, out, controller.startCores);
    this.#cores.follow(this.#fleet, controller.startCores, out);
    for (let worker = 0; worker < this.workerCount; worker++) {
      this.#paces.see(worker, this.#cores.inForce(worker) > 0);
    }
    for (let task = 0; task < this.#shape.taskCount; task++) {
      const isServable = this.#hasProspect(task);
      this.#isServable[task] = isServable ? 1 : 0;
      // Queries that wait are dropped with the next `onWake`, so that they stay where the worker is
      // replaced at once.
      if (!isServable && this.#queues.length(task) > 0) this.#startDueMs = nowMs;
    }
  }

  #dropWaiting(task: number, out: CommandBuffer): void {
    while (this.#queues.length(task) > 0) out.drop(0, this.#queues.take(task), DROP_NO_WORKER);
  }

  /**
   * Starts batches while the task has idle instances and queries that are not too old. Two variants
   * have instances only while a plan gives way to another: the faster comes first, since a query
   * too late for it is too late for any.
   */
  #startBatches(task: number, nowMs: number, out: CommandBuffer): void {
    for (const variant of this.#shape.rankedByTask[task]!) {
      if (!this.#startBatchesOf(variant, task, nowMs, out)) return;
    }
  }

  /** @returns whether queries are left. */
  #startBatchesOf(variant: number, task: number, nowMs: number, out: CommandBuffer): boolean {
    const queues = this.#queues;
    const { idle } = this.#fleet;
    const { level } = this.#controller;
    const limit = this.#controller.batch[variant]!;
    const taken = this.#taken;
    while (idle.count(variant) > 0) {
      const worker = this.#chooseIdle(variant);
      // A straggler serves what it can in time and leaves the rest to the others.
      if (queues.length(task) > 0 && this.#isTooSlow(worker, variant, task, nowMs)) return true;
      let batch = 0;
      while (batch < limit && queues.length(task) > 0) {
        const size = Math.min(limit, batch + queues.length(task));
        const leftMs = this.#leftMs(worker, variant, size);
        const query = queues.take(task);
        const lastMs = this.#deadlineMs[query]! + this.#graceMs;
        // A query done at its deadline is in time; one whose turn comes at its deadline is late.
        const isLate = leftMs > 0 ? nowMs + leftMs > lastMs : nowMs >= lastMs;
        if (isLate) out.drop(0, query, DROP_LATE);
        else taken[batch++] = query;
      }
      if (batch === 0) return limit === 0;
      out.startBatch(worker, variant, level, batch + queues.length(task));
      this.#fleet.start(worker);
      this.#paces.started(worker, variant, batch, this.#cores.inForce(worker));
      for (let position = 0; position < batch; position++) out.appendQuery(taken[position]!);
    }
    return true;
  }

  /** Returns the time of the next batch and the way after it; 0 where that does not count. */
  #leftMs(worker: number, variant: number, batch: number): number {
    const ahead = this.#ahead;
    if (ahead === null) return 0;
    const cores = this.#cores.inForce(worker);
    return ahead.throughMs(variant, cores, batch, this.pace.paceOf(worker));
  }

  /**
   * Returns the idle instance with the most cores or, if paces differ, the fastest. Requires one.
   */
  #chooseIdle(variant: number): number {
    const best = this.#cores.mostOf(this.#fleet, variant);
    if (this.pace.isEven) return best;
    let fastest = best;
    const { state, task } = this.#fleet;
    for (let worker = 0; worker < this.workerCount; worker++) {
      if (task[worker] !== variant || state[worker] !== IDLE) continue;
      if (this.#aloneMs(worker, variant) < this.#aloneMs(fastest, variant)) fastest = worker;
    }
    return fastest;
  }

  /**
   * Whether an instance is a straggler that would make the next query late, while another instance
   * of its variant, not a straggler, may serve it in time.
   */
  #isTooSlow(worker: number, variant: number, task: number, nowMs: number): boolean {
    const { pace } = this;
    if (pace.isEven || !pace.isStraggler(worker) || !this.#hasOther(variant)) return false;
    const leftMs = Math.max(this.#leftMs(worker, variant, 1), this.#aloneMs(worker, variant));
    return nowMs + leftMs > this.#deadlineMs[this.#queues.first(task)]!;
  }

  /** Whether a variant has an instance that is up and not a straggler. */
  #hasOther(variant: number): boolean {
    for (let worker = 0; worker < this.workerCount; worker++) {
      const isUp = this.#fleet.task[worker] === variant && this.#cores.inForce(worker) > 0;
      if (isUp && this.#fleet.isLeaving[worker] === 0 && !this.pace.isStraggler(worker))
        return true;
    }
    return false;
  }

  /** Time of a batch of one on an instance now. */
  #aloneMs(worker: number, variant: number): number {
    const { latencyMsByVariant, maxBatchByTaskPool } = this.#shape;
    const at = (this.#cores.inForce(worker) - 1) * maxBatchByTaskPool[variant]!;
    return latencyMsByVariant[variant]![at]! * this.pace.meanPaceOf(worker);
  }

  #taskOf(worker: number): number {
    return this.#shape.taskByVariant[this.#fleet.task[worker]!]!;
  }

  #hasIdle(task: number): boolean {
    const { variantStart } = this.#shape;
    for (let variant = variantStart[task]!; variant < variantStart[task + 1]!; variant++) {
      if (this.#fleet.idle.count(variant) > 0) return true;
    }
    return false;
  }

  #hasProspect(task: number): boolean {
    const { variantStart } = this.#shape;
    for (let variant = variantStart[task]!; variant < variantStart[task + 1]!; variant++) {
      if (this.#keeper.hasProspect(variant)) return true;
    }
    return false;
  }
}
