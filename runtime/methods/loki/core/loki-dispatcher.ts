/** Dispatcher of Loki. */
import type { LokiBundle } from "../../../bundle/schema.ts";
import { assert } from "../../../core/assert.ts";
import {
  type CommandBuffer,
  DROP_LATE,
  DROP_NO_WORKER,
  DROP_QUEUE_FULL,
} from "../../../core/command-buffer.ts";
import { DemandMonitor } from "../../../core/graph/demand-monitor.ts";
import {
  NO_PARENT,
  type PipelineDispatcher,
  type PipelineDispatcherOptions,
} from "../../../core/graph/pipeline-dispatcher.ts";
import { PipelinePaces } from "../../../core/graph/pipeline-paces.ts";
import {
  busyNames,
  NONE,
  type PipelineShape,
  pipelineShapeOf,
} from "../../../core/graph/pipeline-shape.ts";
import { SharedDemand } from "../../../core/graph/shared-demand.ts";
import { BUSY, DOWN, LOADING } from "../../../core/graph/worker-fleet.ts";
import type { LoadShare, SeenLoad } from "../../../core/load-share.ts";
import type { PaceMonitor } from "../../../core/pace.ts";
import { BatchStarter } from "./batch-starter.ts";
import { Cluster } from "./cluster.ts";
import { DropRule } from "./drop-rule.ts";
import { FanoutMonitor } from "./fanout-monitor.ts";
import { LevelFollower } from "./level-follower.ts";
import { carriedAtPace, carriedByServers } from "./paced-plan.ts";
import { type PlanLayout, planLayoutOf } from "./plan-layout.ts";
import { QueryQueues } from "./query-queues.ts";
import { QueryTable } from "./query-table.ts";
import { loadInflation, Router } from "./router.ts";
import { Stragglers } from "./stragglers.ts";

/** Demand beyond capacity that is not shed, in standard deviations of the demand. */
const SHED_SIGMAS = 2;

/**
 * The dispatcher of a validated bundle; no worker is up yet.
 * @throws Error if the bundle contradicts itself.
 */
export function pipelineDispatcherOf(
  bundle: LokiBundle,
  options: PipelineDispatcherOptions,
): PipelineDispatcher {
  return new LokiDispatcher(bundle, options);
}

/**
 * Loki's Resource Manager, as a choice among compiled plans, and its Load Balancer. Source: Loki
 * §4.2, §5.
 */
class LokiDispatcher implements PipelineDispatcher {
  readonly workerCount: number;
  readonly waitingCapacity: number;
  readonly commandCapacity: number;
  readonly #shape: PipelineShape;
  readonly #layouts: readonly PlanLayout[];
  readonly #carriedQps: Float64Array;
  readonly #queries: QueryTable;
  readonly #queues: QueryQueues;
  /**
   * Queues of two plans: when one follows the other, queries move from one half to the other. The
   * queue of a group is this plus the group.
   */
  #base = 0;
  readonly #halfCount: number;
  readonly #cluster: Cluster;
  readonly #router: Router;
  readonly #dropRule: DropRule;
  readonly #batches: BatchStarter;
  readonly #demand: DemandMonitor;
  /** Demand that plans are chosen by; routing and shedding go by the demand at this front end. */
  readonly #shared = new SharedDemand();
  readonly #fanouts: FanoutMonitor;
  readonly #follower: LevelFollower;
  readonly #paces: PipelinePaces;
  /** Pace of the servers by which the level was chosen last. */
  #chosenPace = 1;
  readonly #stragglers: Stragglers;
  /** Counts the plans, to know the states of earlier ones. */
  #generation = 0;
  #heartbeats = 0;
  /** Queries given up as late until the last heartbeat. */
  #lateCount = 0;
  /** Requests are admitted as this adds up, without chance. */
  #admittedShare = 1;
  #admission = 0;
  #nowMs = Number.NEGATIVE_INFINITY;

  constructor(bundle: LokiBundle, options: PipelineDispatcherOptions) {
    const { levels, paceLevels = [], policy } = bundle;
    const shape = pipelineShapeOf(bundle);
    const layouts = [
      ...levels.map((level) => planLayoutOf(shape, level)),
      ...paceLevels.map((level) => planLayoutOf(shape, level, level.pace)),
    ];
    this.#shape = shape;
    this.#layouts = layouts;
    this.workerCount = shape.workerCount;
    // The names of running queries, and of a batch whose outputs are being handed in, are in use.
    this.waitingCapacity = options.queryCapacity - busyNames(shape);
    assert(this.waitingCapacity > 0, "query names remain beside those of running queries");
    // One event may drop or start every waiting query, each in a command of its own, and assign or
    // release every worker.
    this.commandCapacity = this.waitingCapacity + 1 + 2 * shape.workerCount;
    this.#queries = new QueryTable(options.queryCapacity);
    this.#halfCount = Math.max(...layouts.map((layout) => layout.groupCount));
    this.#queues = new QueryQueues(2 * this.#halfCount, this.#queries.orderMs);
    this.#demand = new DemandMonitor(options.initialDemandQps ?? Number.NaN, shape.beatMs);
    this.#fanouts = new FanoutMonitor(shape.fanout);
    const carriedQps = layouts.map((layout) => layout.carriedQps);
    this.#follower = new LevelFollower(carriedQps, shape.beatMs);
    // While the load is unknown, so is the machine.
    this.#follower.level = levels.length - 1;
    this.#carriedQps = Float64Array.from(carriedQps);
    const variants = bundle.tasks.flatMap((task) => task.variants);
    this.#paces = new PipelinePaces(variants, bundle, shape.poolByWorker, options);
    this.#follower.update(this.#carriedQps, this.#demand.qps, 0, 0);
    const layout = layouts[this.#follower.level]!;
    this.#cluster = new Cluster(shape, layouts, layout, this.#paces.monitor);
    this.#stragglers = new Stragglers(shape, this.#cluster, this.#paces.monitor);
    this.#router = new Router(shape, layouts, policy.routing);
    this.#dropRule = new DropRule(
      shape,
      policy.drop,
      this.#cluster,
      this.#router,
      this.#queries,
      this.#queues,
      this.#paces.monitor,
    );
    this.#batches = new BatchStarter(
      bundle,
      shape,
      this.#cluster,
      this.#queues,
      this.#queries,
      this.#dropRule,
      this.#follower,
      this.#paces,
    );
    this.#refreshRoutes();
  }

  get wakeMs(): number {
    if (this.#demand.counts !== this.#heartbeats) return this.#nowMs;
    const countEndMs = this.#isQuiet ? Number.POSITIVE_INFINITY : this.#demand.countEndMs;
    return Math.min(countEndMs, this.#batches.wakeMs);
  }

  /** Whether the next count changes nothing: it would lower the demand below the lowest level. */
  get #isQuiet(): boolean {
    return this.#demand.isIdle && this.#follower.isLowest && this.#cluster.isWhole;
  }

  get level(): number {
    return this.#follower.level;
  }

  get servers(): number {
    return this.#cluster.servers;
  }

  onRequest(nowMs: number): boolean {
    this.#nowMs = nowMs;
    this.#demand.recordRequest(nowMs);
    // An empty queue shows that the load is carried, whatever the measured pace says.
    const isRoomy = this.#admittedShare > 0 && this.#queues.waiting === 0;
    if (isRoomy || this.#admittedShare >= 1) return true;
    this.#admission += this.#admittedShare;
    if (this.#admission < 1) return false;
    this.#admission -= 1;
    return true;
  }

  onQuery(
    query: number,
    task: number,
    parent: number,
    deadlineMs: number,
    nowMs: number,
    out: CommandBuffer,
  ): void {
    this.#advance(nowMs, out);
    const queries = this.#queries;
    queries.task[query] = task;
    queries.deadlineMs[query] = deadlineMs;
    queries.arrivalMs[query] = nowMs;
    const from = parent === NO_PARENT ? NONE : this.#stateOf(parent);
    const state = this.#router.next(from, this.#shape.ordinalByTask[task]!);
    const planned = this.#cluster.layout.rows.groupByState[state]!;
    const ready = this.#openGroup(planned, task);
    if (ready === NONE) {
      out.drop(0, query, DROP_NO_WORKER);
      return;
    }
    const group = this.#dropRule.choose(query, parent, ready, nowMs, this.#base);
    if (group === NONE) out.drop(0, query, DROP_LATE);
    else if (this.#queues.waiting === this.waitingCapacity) out.drop(0, query, DROP_QUEUE_FULL);
    else {
      queries.state[query] = group === planned ? state : this.#router.stateOfGroup(group);
      this.#enqueue(query, group);
      // No batch starts before its siblings are in: a batch of one crop would keep the others of
      // its scene waiting.
      if (this.#cluster.fleet.idleOf(group) !== NONE) this.#batches.wakeMs = nowMs;
    }
  }

  get pace(): PaceMonitor {
    return this.#paces.monitor;
  }

  onBatchDone(worker: number, nowMs: number, out: CommandBuffer, ranMs = Number.NaN): void {
    this.#paces.done(worker, ranMs, nowMs);
    this.#advance(nowMs, out);
    const { fleet } = this.#cluster;
    assert(fleet.state[worker] === BUSY, "a worker that is done was busy");
    const group = fleet.group[worker]!;
    const stays = this.#cluster.finishBatch(worker, out);
    if (stays) this.#batches.start(group, this.#base, nowMs, out);
    else {
      // Queries that waited for it may go to an idle worker of another group.
      this.#rehome(out);
      this.#batches.startAll(this.#base, nowMs, out);
    }
  }

  onFanout(query: number, childTask: number, count: number): void {
    const variant = this.#queries.variant[query]!;
    const ordinal = this.#shape.ordinalByTask[childTask]!;
    this.#fanouts.record(this.#shape.fanoutStart[variant]! + ordinal, count);
  }

  onWake(nowMs: number, out: CommandBuffer): void {
    this.#advance(nowMs, out);
    if (nowMs < this.#batches.wakeMs) return;
    this.#batches.wakeMs = Number.POSITIVE_INFINITY;
    this.#batches.startAll(this.#base, nowMs, out);
  }

  onWorkerReady(worker: number, nowMs: number, out: CommandBuffer): void {
    this.#advance(nowMs, out);
    assert(this.#cluster.fleet.state[worker] === DOWN, "a worker that comes up was down");
    this.#cluster.comeUp(worker);
    this.#paces.monitor.onReady(worker);
    this.#followPlan(nowMs, out);
  }

  onModelReady(worker: number, nowMs: number, out: CommandBuffer): void {
    this.#advance(nowMs, out);
    assert(this.#cluster.fleet.state[worker] === LOADING, "a worker with a model was loading it");
    this.#cluster.modelReady(worker, out);
    this.#rehome(out);
    this.#batches.startAll(this.#base, nowMs, out);
  }

  onWorkerLost(worker: number, nowMs: number, out: CommandBuffer): void {
    this.#advance(nowMs, out);
    assert(this.#cluster.fleet.state[worker] !== DOWN, "a worker that goes down was up");
    this.#stragglers.forget(worker);
    this.#cluster.goDown(worker);
    this.#paces.lost(worker);
    if (!this.#chooseLevel(nowMs, out)) this.#followPlan(nowMs, out);
  }

  onRetry(query: number, task: number, nowMs: number, out: CommandBuffer): void {
    this.#advance(nowMs, out);
    const group = this.#routedGroup(task);
    if (group === NONE) out.drop(0, query, DROP_NO_WORKER);
    else if (this.#queues.waiting === this.waitingCapacity) out.drop(0, query, DROP_QUEUE_FULL);
    else {
      this.#queries.state[query] = this.#router.stateOfGroup(group);
      this.#enqueue(query, group);
      if (this.#cluster.fleet.idleOf(group) !== NONE) this.#batches.wakeMs = nowMs;
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

  /** Runs the work of every beat. */
  #advance(nowMs: number, out: CommandBuffer): void {
    this.#nowMs = nowMs;
    if (nowMs >= this.#demand.countEndMs) this.#demand.advance(nowMs);
    const { monitor } = this.#paces;
    monitor.look(nowMs);
    const isOtherPace = monitor.poolPace !== this.#chosenPace;
    if (this.#demand.counts === this.#heartbeats && !isOtherPace) return;
    this.#chosenPace = monitor.poolPace;
    if (this.#demand.counts === this.#heartbeats) {
      if (!this.#chooseLevel(nowMs, out)) this.#refreshRoutes();
      return;
    }
    this.#heartbeats = this.#demand.counts;
    this.#fanouts.heartbeat();
    const { upCount, layout } = this.#cluster;
    const isLate = this.#dropRule.lateCount > this.#lateCount;
    this.#lateCount = this.#dropRule.lateCount;
    const mayReplace = this.#router.admittedShare < 1 || (isLate && upCount > layout.servers);
    const areOthers = this.#stragglers.update(nowMs, mayReplace, this.#carries);
    if (areOthers) this.#chosenPace = monitor.poolPace;
    if (this.#chooseLevel(nowMs, out)) return;
    if (areOthers) this.#followPlan(nowMs, out);
    else this.#refreshRoutes();
  }

  /** Whether so many servers, as fast as most, carry the demand with some plan. */
  readonly #carries = (servers: number): boolean => {
    const { qps, noiseQps } = this.#demand;
    const pace = this.#paces.monitor.medianPace;
    return this.#layouts.some((layout) => {
      return this.#carriedBy(layout, servers, pace) >= qps + SHED_SIGMAS * noiseQps;
    });
  };

  #carriedBy(layout: PlanLayout, servers: number, pace: number): number {
    const part = Math.min(1, servers / layout.servers);
    const inflation = loadInflation(this.#shape, layout, this.#fanouts.fanout);
    return (part * carriedAtPace(this.#shape, layout, pace)) / inflation;
  }

  /** @returns whether another plan is followed now. */
  #chooseLevel(nowMs: number, out: CommandBuffer): boolean {
    const { upCount } = this.#cluster;
    for (let level = 0; level < this.#layouts.length; level++) {
      const layout = this.#layouts[level]!;
      this.#carriedQps[level] = this.#carriedBy(layout, upCount, this.#chosenPace);
    }
    // The current plan places slow servers explicitly.
    if (!this.#paces.monitor.isEven) {
      const { layout, capacityQps } = this.#cluster;
      const inflation = loadInflation(this.#shape, layout, this.#fanouts.fanout);
      const ownQps = carriedByServers(layout, capacityQps) / inflation;
      this.#carriedQps[this.level] = Math.max(this.#carriedQps[this.level]!, ownQps);
    }
    this.#shared.look(this.#demand.qps, this.#demand.noiseQps);
    const { qps, noiseQps } = this.#shared;
    if (!this.#follower.update(this.#carriedQps, qps, noiseQps, nowMs, this.#chosenPace))
      return false;
    this.#followPlan(nowMs, out);
    return true;
  }

  /** Puts the workers to the plan of the level, and the queries that wait to its groups. */
  #followPlan(nowMs: number, out: CommandBuffer): void {
    const layout = this.#layouts[this.level]!;
    const before = this.#cluster.layout;
    this.#cluster.follow(layout, out);
    this.#refreshRoutes();
    if (before !== layout) {
      const base = this.#base;
      this.#base = this.#halfCount - base;
      this.#generation++;
      for (let group = 0; group < before.groupCount; group++) {
        const same = layout.groupByVariant[before.variantByGroup[group]!]!;
        this.#moveQueries(base + group, before.taskByGroup[group]!, same, out);
      }
    }
    this.#rehome(out);
    this.#batches.startAll(this.#base, nowMs, out);
  }

  #refreshRoutes(): void {
    this.#cluster.countCapacity();
    const { layout, capacityQps, isWhole } = this.#cluster;
    const { qps, noiseQps } = this.#demand;
    const { poolPace } = this.#paces.monitor;
    this.#router.refresh(layout, qps, this.#fanouts.fanout, capacityQps, isWhole, poolPace);
    // Noise is not shed, and no request is while the demand is unknown.
    const { admittedShare } = this.#router;
    const excused = qps > 0 ? 1 + (SHED_SIGMAS * noiseQps) / qps : Number.POSITIVE_INFINITY;
    this.#admittedShare = admittedShare > 0 ? admittedShare * excused : 0;
  }

  /** Takes queries out of groups that have no ready worker, when another of the task has one. */
  #rehome(out: CommandBuffer): void {
    const { layout, fleet } = this.#cluster;
    const base = this.#base;
    for (let group = 0; group < layout.groupCount; group++) {
      if (fleet.readyByGroup[group]! > 0 || this.#queues.length(base + group) === 0) continue;
      const task = layout.taskByGroup[group]!;
      if (this.#openGroup(group, task) === group) continue;
      this.#moveQueries(base + group, task, NONE, out);
    }
  }

  /** @param to their new group if possible; otherwise each goes where the routes lead. */
  #moveQueries(queue: number, task: number, to: number, out: CommandBuffer): void {
    const queues = this.#queues;
    for (let left = queues.length(queue); left > 0; left--) {
      const query = queues.take(queue);
      const group = to === NONE ? this.#routedGroup(task) : this.#openGroup(to, task);
      if (group === NONE) {
        out.drop(0, query, DROP_NO_WORKER);
        continue;
      }
      this.#queries.state[query] = this.#router.stateOfGroup(group);
      this.#enqueue(query, group);
    }
  }

  /**
   * Returns the group that the routes choose for a query of a task; NONE if no worker serves it.
   */
  #routedGroup(task: number): number {
    const { parentByTask, ordinalByTask } = this.#shape;
    const parent = parentByTask[task]!;
    const { rows } = this.#cluster.layout;
    const from = parent === NONE ? NONE : rows.firstTask + parent;
    const next = this.#router.next(from, ordinalByTask[task]!);
    return this.#openGroup(rows.groupByState[next]!, task);
  }

  #enqueue(query: number, group: number): void {
    const queries = this.#queries;
    const task = queries.task[query]!;
    const stage = this.#cluster.layout.stageByTask[task];
    let orderMs = queries.deadlineMs[query]!;
    if (stage != null) {
      const latestMs = orderMs - this.#shape.fastestRestMs[task]!;
      orderMs = Math.min(latestMs, queries.arrivalMs[query]! + stage.budgetMs);
    }
    queries.orderMs[query] = orderMs;
    queries.generation[query] = this.#generation;
    this.#queues.insert(this.#base + group, query);
  }

  /**
   * Returns the group itself if it has a ready worker, otherwise one of the task that has, or will
   * have one; NONE if no worker serves the task.
   */
  #openGroup(group: number, task: number): number {
    const cluster = this.#cluster;
    if (group !== NONE && cluster.fleet.readyByGroup[group]! > 0) return group;
    const ready = cluster.readyGroup(task);
    if (ready !== NONE) return ready;
    if (group !== NONE && cluster.assignedByGroup[group]! > 0) return group;
    return cluster.assignedGroup(task);
  }

  #stateOf(served: number): number {
    const queries = this.#queries;
    if (queries.generation[served] === this.#generation) return queries.state[served]!;
    return this.#router.stateOf(queries.variant[served]!);
  }
}
