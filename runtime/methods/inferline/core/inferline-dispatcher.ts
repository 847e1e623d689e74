/** Dispatcher of InferLine. */
import type { InferlineBundle } from "../../../bundle/schema.ts";
import { assert } from "../../../core/assert.ts";
import { beatMsOf } from "../../../core/beat.ts";
import {
  type CommandBuffer,
  DROP_NO_WORKER,
  DROP_QUEUE_FULL,
} from "../../../core/command-buffer.ts";
import { DemandMonitor } from "../../../core/graph/demand-monitor.ts";
import type {
  PipelineDispatcher,
  PipelineDispatcherOptions,
} from "../../../core/graph/pipeline-dispatcher.ts";
import { PipelinePaces } from "../../../core/graph/pipeline-paces.ts";
import { ReplicaFleet } from "../../../core/graph/replica-fleet.ts";
import { ReplicaKeeper } from "../../../core/graph/replica-keeper.ts";
import { busyNames, type ReplicaShape, replicaShapeOf } from "../../../core/graph/replica-shape.ts";
import { SharedDemand } from "../../../core/graph/shared-demand.ts";
import { IDLE } from "../../../core/graph/worker-fleet.ts";
import { levelForLoad } from "../../../core/level-choice.ts";
import type { LoadShare, SeenLoad } from "../../../core/load-share.ts";
import type { PaceMonitor } from "../../../core/pace.ts";
import { dispersionOf } from "./dispersion.ts";
import { InferlineLevelFollower } from "./level-follower.ts";
import { RECENT } from "./recent-rates.ts";
import type { ReplicaTuner, StageState } from "./replica-tuner.ts";
import { replicaTunerOf } from "./replica-tuner-of.ts";
import { StageQueues } from "./stage-queues.ts";

export interface InferlineDispatcherOptions extends PipelineDispatcherOptions {
  /** Replaces the bundle's tuner; it must start with the level that is followed first. */
  readonly tuner?: ReplicaTuner;
  /** Index of a level to follow regardless of the traffic. */
  readonly level?: number;
}

/** Numbers of replicas, for operators of the cluster. Arrays are by task, live, not copies. */
export interface InferlineGauges {
  /** Replicas that the tuner wants. */
  readonly targetsByTask: Uint32Array;
  /** Replicas, including those that come up and those that leave after a last batch. */
  readonly assignedByTask: Uint32Array;
  /** Replicas that hold their model. */
  readonly readyByTask: Uint32Array;
}

export type InferlineDispatcher = PipelineDispatcher & InferlineGauges;

/**
 * The dispatcher of a validated bundle; no worker is up yet.
 * @throws Error if the bundle contradicts itself.
 */
export function inferlineDispatcherOf(
  bundle: InferlineBundle,
  options: InferlineDispatcherOptions,
): InferlineDispatcher {
  return new StageDispatcher(bundle, options);
}

/**
 * InferLine's serving side: a central queue for each task, first in first out, whose idle replicas
 * take waiting queries at once, in batches up to the planned size; and as many replicas as the
 * tuner decides. No query is dropped for being late; with some tuners, late queries wait for the
 * others. Source: InferLine §4.2, §5, §6; the latter is ours.
 *
 * Batches start in `onWake` only, after all events of one time, in the order of the tasks, the idle
 * worker of the lowest index first.
 */
class StageDispatcher implements InferlineDispatcher {
  readonly workerCount: number;
  readonly waitingCapacity: number;
  readonly commandCapacity: number;
  readonly #shape: ReplicaShape;
  readonly #fleet: ReplicaFleet;
  readonly #keeper: ReplicaKeeper;
  readonly #queues: StageQueues;
  readonly #demand: DemandMonitor;
  readonly #follower: InferlineLevelFollower;
  readonly #tuner: ReplicaTuner;
  readonly #isLevelFixed: boolean;
  /** Demand that plans are chosen by; replicas are tuned by the demand at this front end. */
  readonly #shared = new SharedDemand();
  /** Variance of the recent mean, for each request per second of it. */
  readonly #variancePerQps: number;
  readonly #state: StageState;
  readonly #paces: PipelinePaces;
  /**
   * Whether the task has a replica, or will have one of the workers that are up or have yet to come
   * up for the first time, [taskCount].
   */
  readonly #isServable: Uint8Array;
  /** Whether targets or the level have changed since replicas were last adjusted. */
  #isUnsettled = false;
  #wakeMs = Number.POSITIVE_INFINITY;

  constructor(bundle: InferlineBundle, options: InferlineDispatcherOptions) {
    const { queryCapacity, initialDemandQps = Number.NaN } = options;
    const shape = replicaShapeOf(bundle);
    const { taskCount, workerCount } = shape;
    this.#shape = shape;
    this.workerCount = workerCount;
    this.waitingCapacity = queryCapacity - busyNames(shape);
    assert(this.waitingCapacity > 0, "query names remain beside those of running queries");
    // One event may drop or start every waiting query, each in a command of its own, and assign or
    // release every worker.
    this.commandCapacity = this.waitingCapacity + 1 + 2 * workerCount;
    this.#fleet = new ReplicaFleet(shape);
    this.#keeper = new ReplicaKeeper(shape, this.#fleet);
    this.#demand = new DemandMonitor(initialDemandQps, beatMsOf(bundle.slo));
    this.#isServable = new Uint8Array(taskCount);
    this.#variancePerQps = (1000 * dispersionOf(bundle.arrivals)) / (RECENT * beatMsOf(bundle.slo));
    const level = options.level ?? levelForLoad(bundle.levels, initialDemandQps);
    this.#isLevelFixed = options.level !== undefined || bundle.levels.length === 1;
    this.#follower = new InferlineLevelFollower(bundle, level);
    this.#tuner = options.tuner ?? replicaTunerOf(bundle, level, this.#isLevelFixed);
    this.#queues = new StageQueues(bundle, queryCapacity, this.#tuner.isLateLast === true);
    const variants = bundle.tasks.flatMap((task) => task.variants);
    this.#paces = new PipelinePaces(variants, bundle, shape.poolByWorker, options);
    const { monitor } = this.#paces;
    this.#state = {
      waiting: (task) => this.#queues.length(task),
      readyByTask: this.#fleet.readyByTask,
      get pace() {
        return monitor.poolPace;
      },
    };
  }

  get wakeMs(): number {
    return Math.min(this.#wakeMs, this.#tuner.wakeMs);
  }

  get level(): number {
    return this.#tuner.level ?? this.#follower.level;
  }

  get servers(): number {
    return this.#fleet.replicaCount;
  }

  get pace(): PaceMonitor {
    return this.#paces.monitor;
  }

  get targetsByTask(): Uint32Array {
    return this.#tuner.targets;
  }

  get assignedByTask(): Uint32Array {
    return this.#fleet.assignedByTask;
  }

  get readyByTask(): Uint32Array {
    return this.#fleet.holdingByTask;
  }

  onRequest(nowMs: number): boolean {
    this.#demand.recordRequest(nowMs);
    if (this.#tuner.onArrival(nowMs)) {
      this.#isUnsettled = true;
      this.#wakeMs = nowMs;
    }
    return true;
  }

  onQuery(
    query: number,
    task: number,
    _parent: number,
    deadlineMs: number,
    nowMs: number,
    out: CommandBuffer,
  ): void {
    this.#tuner.onQuery?.(task);
    if (this.#isServable[task] === 0) out.drop(0, query, DROP_NO_WORKER);
    else if (this.#queues.waiting === this.waitingCapacity) out.drop(0, query, DROP_QUEUE_FULL);
    else {
      this.#queues.append(task, query, deadlineMs);
      if (this.#fleet.idle.count(task) > 0) this.#wakeMs = nowMs;
    }
  }

  onBatchDone(worker: number, nowMs: number, out: CommandBuffer, ranMs = Number.NaN): void {
    this.#paces.done(worker, ranMs, nowMs);
    const task = this.#fleet.task[worker]!;
    if (this.#keeper.finish(worker)) this.#settle(nowMs, out);
    else if (this.#queues.length(task) > 0) this.#wakeMs = nowMs;
  }

  /** Unused: the tuner counts requests and queries itself. */
  onFanout(): void {}

  onWake(nowMs: number, out: CommandBuffer): void {
    const { monitor } = this.#paces;
    monitor.look(nowMs);
    this.#queues.setPace(monitor.poolPace);
    if (nowMs >= this.#tuner.wakeMs) this.#tick(nowMs);
    if (this.#isUnsettled) this.#settle(nowMs, out);
    this.#wakeMs = Number.POSITIVE_INFINITY;
    const { taskCount } = this.#shape;
    for (let task = 0; task < taskCount; task++) {
      if (this.#isServable[task] === 1) this.#startBatches(task, nowMs, out);
      else this.#dropWaiting(task, out);
    }
  }

  onWorkerReady(worker: number, nowMs: number, out: CommandBuffer): void {
    this.#fleet.comeUp(worker);
    this.#paces.monitor.onReady(worker);
    this.#settle(nowMs, out);
  }

  onModelReady(worker: number, nowMs: number, out: CommandBuffer): void {
    this.#fleet.modelReady(worker);
    if (this.#queues.length(this.#fleet.task[worker]!) > 0) this.#wakeMs = nowMs;
    this.#settle(nowMs, out);
  }

  onWorkerLost(worker: number, nowMs: number, out: CommandBuffer): void {
    this.#fleet.goDown(worker);
    this.#paces.lost(worker);
    this.#settle(nowMs, out);
  }

  onRetry(query: number, task: number, nowMs: number, out: CommandBuffer): void {
    if (this.#isServable[task] === 0) out.drop(0, query, DROP_NO_WORKER);
    else if (this.#queues.waiting === this.waitingCapacity) out.drop(0, query, DROP_QUEUE_FULL);
    else {
      this.#queues.putFirst(task, query);
      if (this.#fleet.idle.count(task) > 0) this.#wakeMs = nowMs;
    }
  }

  onCancel(query: number): boolean {
    return this.#queues.remove(query);
  }

  loadQps(nowMs: number): number {
    this.#demand.advance(nowMs);
    return this.#demand.qps;
  }

  seenLoad(nowMs: number): SeenLoad {
    this.#demand.advance(nowMs);
    return this.#demand.seen;
  }

  onShare(share: LoadShare): void {
    this.#shared.follow(share);
    this.#paces.monitor.share(share.workers);
  }

  /** Runs the tuner's periodic work, and checks whether another plan is needed. */
  #tick(nowMs: number): void {
    if (this.#tuner.tick(nowMs, this.#state)) this.#isUnsettled = true;
    const { recentMeanQps } = this.#tuner;
    this.#shared.look(recentMeanQps, Math.sqrt(this.#variancePerQps * recentMeanQps));
    // A tuner that chooses plans itself provides for the local load, regardless of other front
    // ends.
    if (this.#tuner.level !== undefined || this.#isLevelFixed) return;
    const { poolPace } = this.#paces.monitor;
    if (!this.#follower.update(this.#shared.qps * poolPace, nowMs)) return;
    this.#tuner.follow(this.#follower.level, nowMs);
    this.#isUnsettled = true;
  }

  #settle(nowMs: number, out: CommandBuffer): void {
    this.#isUnsettled = false;
    this.#keeper.settle(this.level, this.#tuner.targets, out);
    for (let task = 0; task < this.#shape.taskCount; task++) {
      const isServable = this.#keeper.hasProspect(task);
      this.#isServable[task] = isServable ? 1 : 0;
      // Queries that wait are dropped with the next `onWake`, so that they stay where the worker is
      // replaced at once.
      if (!isServable && this.#queues.length(task) > 0) this.#wakeMs = nowMs;
    }
  }

  #dropWaiting(task: number, out: CommandBuffer): void {
    while (this.#queues.length(task) > 0) out.drop(0, this.#queues.take(task), DROP_NO_WORKER);
  }

  /** Batches as long as the task has idle workers and queries. */
  #startBatches(task: number, nowMs: number, out: CommandBuffer): void {
    const queues = this.#queues;
    const { idle } = this.#fleet;
    if (queues.length(task) === 0 || idle.count(task) === 0) return;
    const { poolByWorker, poolCount, variantByTaskPool, maxBatchByTaskPool } = this.#shape;
    const { level } = this;
    queues.setBack(task, level, nowMs);
    const planned = this.#shape.batchByLevelTask[level * this.#shape.taskCount + task]!;
    while (queues.length(task) > 0 && idle.count(task) > 0) {
      const worker = this.#nextIdle(task);
      const cell = task * poolCount + poolByWorker[worker]!;
      // A replica of an earlier plan may be in a pool where smaller batches were profiled.
      const limit = Math.min(queues.mostOf(task, level, planned, nowMs), maxBatchByTaskPool[cell]!);
      const batch = Math.min(limit, queues.length(task));
      out.startBatch(worker, variantByTaskPool[cell]!, level, queues.length(task));
      for (let taken = 0; taken < batch; taken++) out.appendQuery(queues.take(task));
      this.#fleet.start(worker);
      this.#paces.started(worker, variantByTaskPool[cell]!, batch);
    }
  }

  /** The fastest idle worker of a task, of equally fast ones that of the lowest index. */
  #nextIdle(task: number): number {
    const { monitor } = this.#paces;
    let fastest = this.#fleet.idle.lowest(task);
    if (monitor.isEven) return fastest;
    for (let worker = fastest + 1; worker < this.workerCount; worker++) {
      const isIdle = this.#fleet.state[worker] === IDLE && this.#fleet.task[worker] === task;
      if (isIdle && monitor.meanPaceOf(worker) < monitor.meanPaceOf(fastest)) fastest = worker;
    }
    return fastest;
  }
}
