/** Decides when a server starts a batch, and of what. */
import type { LokiBundle } from "../../../bundle/schema.ts";
import { type CommandBuffer, DROP_LATE } from "../../../core/command-buffer.ts";
import type { PipelinePaces } from "../../../core/graph/pipeline-paces.ts";
import { NONE, type PipelineShape } from "../../../core/graph/pipeline-shape.ts";
import type { Cluster } from "./cluster.ts";
import { type DropRule, NOT_IN_TIME } from "./drop-rule.ts";
import type { LevelFollower } from "./level-follower.ts";
import type { QueryQueues } from "./query-queues.ts";
import type { QueryTable } from "./query-table.ts";
import { DECIDED_GIVE_UP, DECIDED_WAIT, TaskDecider } from "./task-decider.ts";

/**
 * Added to the turn of a query that a stage has given up: behind all others, in the order they had.
 * Times are below it, and exact to 0.1 ms above.
 */
const GIVEN_UP_MS = 1e15;

/**
 * Starts batches: of whatever waits, as soon as a server is free, or as the table of a stage policy
 * says. What the table gives up is served when nothing else waits.
 */
export class BatchStarter {
  /**
   * When batches are to be looked for: now, after queries have come to idle workers, or when a
   * stage that waits is to be asked again; else infinite.
   */
  wakeMs = Number.POSITIVE_INFINITY;
  readonly #shape: PipelineShape;
  readonly #sloFraction: number;
  readonly #cluster: Cluster;
  readonly #queues: QueryQueues;
  readonly #queries: QueryTable;
  readonly #dropRule: DropRule;
  readonly #follower: LevelFollower;
  readonly #stages: TaskDecider;
  readonly #paces: PipelinePaces;

  constructor(
    bundle: LokiBundle,
    shape: PipelineShape,
    cluster: Cluster,
    queues: QueryQueues,
    queries: QueryTable,
    dropRule: DropRule,
    follower: LevelFollower,
    paces: PipelinePaces,
  ) {
    this.#paces = paces;
    this.#shape = shape;
    this.#sloFraction = bundle.policy.sloFraction;
    this.#cluster = cluster;
    this.#queues = queues;
    this.#queries = queries;
    this.#dropRule = dropRule;
    this.#follower = follower;
    this.#stages = new TaskDecider(bundle, shape);
  }

  /** @param base of the queues in force. */
  startAll(base: number, nowMs: number, out: CommandBuffer): void {
    const { groupCount } = this.#cluster.layout;
    for (let group = 0; group < groupCount; group++) this.start(group, base, nowMs, out);
  }

  /** Starts batches as long as the group has idle workers and queries. */
  start(group: number, base: number, nowMs: number, out: CommandBuffer): void {
    const { fleet, layout } = this.#cluster;
    const queues = this.#queues;
    const queue = base + group;
    if (layout.stageByTask[layout.taskByGroup[group]!] != null) {
      this.#startStageBatches(group, queue, nowMs, out);
      return;
    }
    for (;;) {
      const worker = fleet.fastestIdleOf(group, this.#paces.monitor);
      if (worker === NONE || queues.length(queue) === 0) return;
      const batch = this.#dropRule.formBatch(group, worker, nowMs, base, out);
      if (batch === NOT_IN_TIME) return;
      if (batch === 0) continue;
      this.#startBatch(worker, fleet.model[worker]!, group, queue, batch, out);
    }
  }

  #startStageBatches(group: number, queue: number, nowMs: number, out: CommandBuffer): void {
    const { fleet, layout } = this.#cluster;
    const queues = this.#queues;
    const task = layout.taskByGroup[group]!;
    const stages = this.#stages;
    const queries = this.#queries;
    for (;;) {
      const worker = fleet.fastestIdleOf(group, this.#paces.monitor);
      const first = queues.first(queue);
      if (worker === NONE || first === NONE) return;
      if (this.#dropRule.isHopeless(first, task, nowMs)) {
        out.drop(0, queues.take(queue), DROP_LATE);
        continue;
      }
      const queued = queues.length(queue);
      const orderMs = queries.orderMs[first]!;
      if (orderMs >= GIVEN_UP_MS) stages.rescue(this.#follower.level, task);
      else {
        const pace = this.#paces.monitor.paceOf(worker);
        const slackMs = (orderMs - nowMs) / pace;
        const decision = stages.decide(this.#follower.level, task, queued, slackMs);
        if (decision === DECIDED_WAIT) {
          this.wakeMs = Math.min(this.wakeMs, nowMs + stages.waitMs * pace);
          return;
        }
        if (decision === DECIDED_GIVE_UP) {
          queries.orderMs[queues.take(queue)] = orderMs + GIVEN_UP_MS;
          queues.insert(queue, first);
          continue;
        }
      }
      const variant = this.#shape.variantStart[task]! + stages.variant;
      this.#startBatch(worker, variant, group, queue, Math.min(stages.batch, queued), out);
    }
  }

  #startBatch(
    worker: number,
    variant: number,
    group: number,
    queue: number,
    batch: number,
    out: CommandBuffer,
  ): void {
    const queries = this.#queries;
    const queues = this.#queues;
    const { layout, fleet } = this.#cluster;
    const stage = layout.stageByTask[layout.taskByGroup[group]!];
    const executionMs = layout.latencyMsByGroup[group]! * layout.pace;
    const budgetMs = stage != null ? stage.budgetMs : executionMs / this.#sloFraction;
    out.startBatch(worker, variant, this.#follower.level, queues.length(queue));
    for (let taken = 0; taken < batch; taken++) {
      const query = queues.take(queue);
      queries.variant[query] = variant;
      queries.budgetMs[query] = budgetMs;
      out.appendQuery(query);
    }
    fleet.start(worker);
    this.#paces.started(worker, variant, batch);
  }
}
