import type { InferlineBundle } from "../../bundle/schema.ts";
import { assert } from "../assert.ts";
import { type CommandBuffer, DROP_NO_WORKER, DROP_QUEUE_FULL } from "../command-buffer.ts";
import { DemandMonitor } from "../pipeline/demand-monitor.ts";
import { FanoutMonitor } from "../pipeline/fanout-monitor.ts";
import type {
  PipelineDispatcher,
  PipelineDispatcherOptions,
} from "../pipeline/pipeline-dispatcher.ts";
import { NONE } from "../pipeline/pipeline-shape.ts";
import { ReplicaKeeper } from "./replica-keeper.ts";
import type { ReplicaTuner } from "./replica-tuner.ts";
import { replicaTunerOf } from "./replica-tuner-of.ts";
import { StageFleet } from "./stage-fleet.ts";
import { StageLevelFollower } from "./stage-level-follower.ts";
import { StageQueues } from "./stage-queues.ts";
import { type StageShape, stageShapeOf } from "./stage-shape.ts";

export interface InferlineDispatcherOptions extends PipelineDispatcherOptions {
  /** In place of the tuner that the bundle asks for; it has to start with the level that is followed first. */
  readonly tuner?: ReplicaTuner;
  /** Index of a level that is followed whatever the traffic is. */
  readonly level?: number;
}

/** How many replicas the tasks have, for the eyes of whoever runs the cluster. Arrays are by task, in force, not copies. */
export interface StageGauges {
  /** Replicas that the tuner wants. */
  readonly targetsByTask: Uint32Array;
  /** Replicas that there are, those that come up and those that leave after a last batch included. */
  readonly assignedByTask: Uint32Array;
  /** Those of them that hold their model. */
  readonly readyByTask: Uint32Array;
  readonly tuner: ReplicaTuner;
}

export type InferlineDispatcher = PipelineDispatcher & StageGauges;

/** The dispatcher of a validated bundle; no worker is up yet. @throws Error if the bundle contradicts itself. */
export function inferlineDispatcherOf(
  bundle: InferlineBundle,
  options: InferlineDispatcherOptions,
): InferlineDispatcher {
  return new StageDispatcher(bundle, options);
}

/** Index of the lowest level for a load, or of the highest if there is none or the load is not known. */
export function levelForLoad(
  levels: readonly { readonly loadQps: number }[],
  demandQps: number,
): number {
  const level = levels.findIndex(({ loadQps }) => loadQps >= demandQps);
  return level < 0 ? levels.length - 1 : level;
}

/**
 * InferLine's serving side: a central queue for each task, first in first out, whose idle replicas take what waits at once, in batches up to the planned
 * size; and as many replicas as the tuner says. Nothing is dropped for being late. Source: InferLine §4.2, §5, §6.
 *
 * Batches start in `onWake` only, after all that happens at one time, in the order of the tasks, the idle worker of the lowest index first.
 */
class StageDispatcher implements InferlineDispatcher {
  readonly workerCount: number;
  readonly waitingCapacity: number;
  readonly commandCapacity: number;
  readonly tuner: ReplicaTuner;
  readonly #shape: StageShape;
  readonly #fleet: StageFleet;
  readonly #keeper: ReplicaKeeper;
  readonly #queues: StageQueues;
  readonly #demand: DemandMonitor;
  readonly #fanouts: FanoutMonitor;
  readonly #follower: StageLevelFollower;
  readonly #isLevelFixed: boolean;
  /** [queryCapacity] */
  readonly #taskByQuery: Uint16Array;
  /** [taskCount, taskCount]: edge from a task to another, NONE where there is none. */
  readonly #edgeByTasks: Int32Array;
  /** [taskCount]: whether a worker is up that can run the task. */
  readonly #isServable: Uint8Array;
  /** Whether targets or the level have changed since replicas were last seen to. */
  #isUnsettled = false;
  #wakeMs = Number.POSITIVE_INFINITY;
  #heartbeats = 0;

  constructor(bundle: InferlineBundle, options: InferlineDispatcherOptions) {
    const { queryCapacity, initialDemandQps = Number.NaN } = options;
    const shape = stageShapeOf(bundle);
    const { taskCount, workerCount, graph } = shape;
    this.#shape = shape;
    this.workerCount = workerCount;
    // The names of queries that run, and of a batch whose outputs are being handed in, are taken.
    const largestBatch = Math.max(...shape.maxBatchByTaskPool);
    this.waitingCapacity = queryCapacity - (workerCount + 1) * largestBatch;
    assert(this.waitingCapacity > 0, "there are names for the queries that run and for others");
    // One event drops or starts every query that waits, each in a command of its own, and assigns or releases every worker.
    this.commandCapacity = this.waitingCapacity + 1 + 2 * workerCount;
    this.#fleet = new StageFleet(shape);
    this.#keeper = new ReplicaKeeper(shape, this.#fleet);
    this.#queues = new StageQueues(taskCount, queryCapacity);
    this.#taskByQuery = new Uint16Array(queryCapacity);
    this.#demand = new DemandMonitor(initialDemandQps);
    this.#fanouts = new FanoutMonitor(graph.shareByEdge);
    this.#edgeByTasks = new Int32Array(taskCount * taskCount).fill(NONE);
    for (let edge = 0; edge < graph.edgeCount; edge++) {
      const parent = graph.parentByEdge[edge]!;
      if (parent < 0) continue;
      this.#edgeByTasks[parent * taskCount + graph.childByEdge[edge]!] = edge;
    }
    this.#isServable = new Uint8Array(taskCount);
    const level = options.level ?? levelForLoad(bundle.levels, initialDemandQps);
    this.#isLevelFixed = options.level !== undefined || bundle.levels.length === 1;
    const peakQps = Float64Array.from(bundle.levels, ({ sample }) => sample.peakQps);
    this.#follower = new StageLevelFollower(peakQps, level);
    this.tuner = options.tuner ?? replicaTunerOf(bundle, level);
  }

  get wakeMs(): number {
    return Math.min(this.#wakeMs, this.tuner.wakeMs);
  }

  get level(): number {
    return this.#follower.level;
  }

  get servers(): number {
    return this.#fleet.replicaCount;
  }

  get targetsByTask(): Uint32Array {
    return this.tuner.targets;
  }

  get assignedByTask(): Uint32Array {
    return this.#fleet.assignedByTask;
  }

  get readyByTask(): Uint32Array {
    return this.#fleet.holdingByTask;
  }

  onRequest(nowMs: number): boolean {
    this.#demand.recordRequest(nowMs);
    if (this.tuner.onArrival(nowMs)) {
      this.#isUnsettled = true;
      this.#wakeMs = nowMs;
    }
    return true;
  }

  onQuery(
    query: number,
    task: number,
    _parent: number,
    _deadlineMs: number,
    nowMs: number,
    out: CommandBuffer,
  ): void {
    if (this.#isServable[task] === 0) out.drop(0, query, DROP_NO_WORKER);
    else if (this.#queues.waiting === this.waitingCapacity) out.drop(0, query, DROP_QUEUE_FULL);
    else {
      this.#taskByQuery[query] = task;
      this.#queues.append(task, query);
      if (this.#fleet.idle.count(task) > 0) this.#wakeMs = nowMs;
    }
  }

  onBatchDone(worker: number, nowMs: number, out: CommandBuffer): void {
    const task = this.#fleet.task[worker]!;
    if (this.#keeper.finish(worker)) this.#settle(out);
    else if (this.#queues.length(task) > 0) this.#wakeMs = nowMs;
  }

  onFanout(query: number, childTask: number, count: number): void {
    const edge = this.#edgeByTasks[this.#taskByQuery[query]! * this.#shape.taskCount + childTask]!;
    assert(edge !== NONE, "an edge leads to a child task");
    this.#fanouts.record(edge, count);
  }

  onWake(nowMs: number, out: CommandBuffer): void {
    this.#wakeMs = Number.POSITIVE_INFINITY;
    if (nowMs >= this.tuner.wakeMs) this.#tick(nowMs);
    if (this.#isUnsettled) this.#settle(out);
    const { taskCount } = this.#shape;
    for (let task = 0; task < taskCount; task++) this.#startBatches(task, out);
  }

  onWorkerReady(worker: number, _nowMs: number, out: CommandBuffer): void {
    this.#fleet.comeUp(worker);
    this.#findServable();
    this.#settle(out);
  }

  onModelReady(worker: number, nowMs: number, out: CommandBuffer): void {
    this.#fleet.modelReady(worker);
    if (this.#queues.length(this.#fleet.task[worker]!) > 0) this.#wakeMs = nowMs;
    this.#settle(out);
  }

  onWorkerLost(worker: number, _nowMs: number, out: CommandBuffer): void {
    this.#fleet.goDown(worker);
    this.#findServable();
    for (let task = 0; task < this.#shape.taskCount; task++) {
      while (this.#isServable[task] === 0 && this.#queues.length(task) > 0) {
        out.drop(0, this.#queues.take(task), DROP_NO_WORKER);
      }
    }
    this.#settle(out);
  }

  onCancel(query: number): boolean {
    return this.#queues.remove(query);
  }

  loadQps(nowMs: number): number {
    this.#demand.advance(nowMs);
    return this.#demand.qps;
  }

  fanoutOf(variant: number, childTask: number): number {
    const task = this.#shape.taskByVariant[variant]!;
    const edge = this.#edgeByTasks[task * this.#shape.taskCount + childTask]!;
    assert(edge !== NONE, "an edge leads to a child task");
    return this.#fanouts.fanout[edge]!;
  }

  /** Does what the tuner wants done from time to time, and looks whether another plan is called for. */
  #tick(nowMs: number): void {
    if (this.tuner.tick(nowMs)) this.#isUnsettled = true;
    this.#demand.advance(nowMs);
    if (this.#demand.counts !== this.#heartbeats) {
      this.#heartbeats = this.#demand.counts;
      this.#fanouts.heartbeat();
    }
    if (this.#isLevelFixed || !this.#follower.update(this.tuner.recentPeakQps, nowMs)) return;
    this.tuner.follow(this.#follower.level, nowMs);
    this.#isUnsettled = true;
  }

  #settle(out: CommandBuffer): void {
    this.#isUnsettled = false;
    this.#keeper.settle(this.#follower.level, this.tuner.targets, out);
  }

  /** Batches as long as the task has idle workers and queries. */
  #startBatches(task: number, out: CommandBuffer): void {
    const queues = this.#queues;
    const { idle } = this.#fleet;
    const { poolByWorker, poolCount, variantByTaskPool, maxBatchByTaskPool } = this.#shape;
    const { level } = this.#follower;
    const planned = this.#shape.batchByLevelTask[level * this.#shape.taskCount + task]!;
    while (queues.length(task) > 0 && idle.count(task) > 0) {
      const worker = idle.lowest(task);
      const cell = task * poolCount + poolByWorker[worker]!;
      // A replica of an earlier plan may be in a pool where smaller batches were profiled.
      const limit = Math.min(planned, maxBatchByTaskPool[cell]!);
      const batch = Math.min(limit, queues.length(task));
      out.startBatch(worker, variantByTaskPool[cell]!, level);
      for (let taken = 0; taken < batch; taken++) out.appendQuery(queues.take(task));
      this.#fleet.start(worker);
    }
  }

  #findServable(): void {
    const { taskCount, poolCount, variantByTaskPool } = this.#shape;
    for (let task = 0; task < taskCount; task++) {
      this.#isServable[task] = 0;
      for (let pool = 0; pool < poolCount; pool++) {
        const canRun = variantByTaskPool[task * poolCount + pool] !== NONE;
        if (canRun && this.#fleet.upByPool[pool]! > 0) this.#isServable[task] = 1;
      }
    }
  }
}
