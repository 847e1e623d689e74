/** Decides when a server starts a batch, and which queries it takes. */
import type { LokiBundle, RamsisBundle, StagePolicy } from "../../../bundle/schema.ts";
import { type CommandBuffer, DROP_LATE } from "../../../core/command-buffer.ts";
import type { PipelinePaces } from "../../../core/graph/pipeline-paces.ts";
import { NONE, type PipelineShape } from "../../../core/graph/pipeline-shape.ts";
import { GIVE_UP, PolicyTable, WAIT } from "../../../core/policy-table.ts";
import type { Cluster } from "./cluster.ts";
import { type DropRule, NOT_IN_TIME } from "./drop-rule.ts";
import type { LevelFollower } from "./level-follower.ts";
import type { QueryQueues } from "./query-queues.ts";
import type { QueryTable } from "./query-table.ts";

/**
 * Added to the order of a query that a stage has given up: behind all others, in their order. Times
 * are below it, and exact to 0.1 ms above.
 */
const GIVEN_UP_MS = 1e15;

/**
 * Starts batches of waiting queries as soon as a server is free, or as the table of a stage policy
 * decides. Queries that the table gives up are served when no others wait.
 */
export class BatchStarter {
  /**
   * When to look for batches: now, after queries have come to idle workers, or when a stage that
   * waits must be asked again; else infinite.
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
        this.#dropRule.lateCount++;
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

/** Far above the rounding of a difference of times, far below a service time. */
const ROUNDING_MS = 1e-6;

const DECIDED_START = 0;
const DECIDED_WAIT = 1;
const DECIDED_GIVE_UP = 2;

/** Decides with the tables of stage policies; the decision is left in the fields. */
class TaskDecider {
  /** Index of the variant in its task. */
  variant = 0;
  batch = 0;
  /** After the decision to wait: for how long at most. */
  waitMs = 0;
  readonly #taskCount: number;
  /** [levelCount * taskCount] */
  readonly #tables: readonly (PolicyTable | null)[];
  /** Variant of the task with the highest rate on full batches, and that batch, by table. */
  readonly #rescue: readonly { readonly variant: number; readonly batch: number }[];

  constructor(bundle: LokiBundle, shape: PipelineShape) {
    this.#taskCount = shape.taskCount;
    const stages = bundle.levels.flatMap(({ stages: byTask }) =>
      bundle.tasks.map((_, task) => byTask?.[task] ?? null),
    );
    this.#tables = stages.map((stage) => (stage === null ? null : taskTableOf(bundle, stage)));
    this.#rescue = stages.map((stage) => {
      let best = { variant: 0, batch: 1 };
      if (stage === null) return best;
      const { data, shape: axes } = stage.serviceTimes.decisionMs;
      const actions = stage.decisionSpace.actions.data;
      let bestRate = 0;
      for (let action = 0; 2 * action < actions.length; action++) {
        const variant = actions[2 * action]!;
        const batch = actions[2 * action + 1]!;
        const rate = batch / data[variant * axes[1]! + batch - 1]!;
        if (rate <= bestRate) continue;
        best = { variant, batch };
        bestRate = rate;
      }
      return best;
    });
  }

  /**
   * @param queued at least one.
   * @param slackMs to the earliest deadline of the stage.
   * @returns whether to start a batch, wait or give the first query up.
   */
  decide(level: number, task: number, queued: number, slackMs: number): number {
    const table = this.#tables[level * this.#taskCount + task]!;
    const roundedMs = slackMs + ROUNDING_MS;
    const action = table.lookup(0, queued, roundedMs);
    if (action === GIVE_UP) return DECIDED_GIVE_UP;
    if (action === WAIT) {
      this.waitMs = roundedMs - table.waitUntilSlackMs(0, queued, roundedMs, 0) + ROUNDING_MS;
      return DECIDED_WAIT;
    }
    this.variant = table.variant(action);
    this.batch = table.batch(action);
    return DECIDED_START;
  }

  /**
   * Decides for queries that were given up but are still served: the batch that clears the most of
   * them per time.
   */
  rescue(level: number, task: number): void {
    const { variant, batch } = this.#rescue[level * this.#taskCount + task]!;
    this.variant = variant;
    this.batch = batch;
  }
}

/**
 * The table of a stage policy, as that of a bundle with one level.
 * @throws Error if it contradicts itself.
 */
function taskTableOf(bundle: LokiBundle, stage: StagePolicy): PolicyTable {
  const { application, slo, arrivals, cluster, provenance } = bundle;
  const perQuery = { accuracy: { median: 0, p99: 0 }, violationRate: { median: 0, p99: 0 } };
  const synthetic: RamsisBundle = {
    application,
    method: "ramsis",
    slo,
    arrivals,
    cluster,
    provenance,
    tasks: [],
    policy: {
      objective: "per-query",
      discretization: { kind: "model-based" },
      batching: "variable",
      maxQueue: stage.decisionSpace.maxQueue,
      balancer: "pooled",
      serviceTimes: "p95",
      drop: false,
    },
    decisionSpace: stage.decisionSpace,
    levels: [
      {
        loadQps: 1,
        feasible: true,
        capacityQps: 1,
        expected: {
          accuracyPerSatisfied: 0,
          accuracyPerQuery: 0,
          violationRate: 0,
          upperBoundAccuracy: 0,
          byBatch: perQuery,
        },
        solve: { method: "stage", iterations: 0, residual: 0, states: 0 },
        actionByState: stage.actionByState,
        mixture: null,
      },
    ],
  };
  return PolicyTable.fromBundle(synthetic);
}
