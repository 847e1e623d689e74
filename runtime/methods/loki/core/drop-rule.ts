/** Decides when a query is given up or rerouted (Loki §5.2). */
import type { LokiOptions } from "../../../bundle/schema.ts";
import { type CommandBuffer, DROP_LATE } from "../../../core/command-buffer.ts";
import { NO_PARENT } from "../../../core/graph/pipeline-dispatcher.ts";
import { NONE, type PipelineShape } from "../../../core/graph/pipeline-shape.ts";
import type { PaceMonitor } from "../../../core/pace.ts";
import { Rng } from "../../../core/rng.ts";
import type { Cluster } from "./cluster.ts";
import { FinishEstimate } from "./finish-estimate.ts";
import { batchAtPace } from "./paced-plan.ts";
import type { QueryQueues } from "./query-queues.ts";
import type { QueryTable } from "./query-table.ts";
import type { Router } from "./router.ts";

/** In place of a batch: the worker is to stay idle. */
export const NOT_IN_TIME = -1;

const TIE_SEED = 1;
const TIE_STREAM = 0x74696573;

/**
 * When a query is given up or sent to another group than its route says. Source of all modes but
 * `deadline`: Loki §5.2.
 *
 * The budget of a task is the time its batch takes, divided by the part of the SLO that plans give
 * to execution: with execution time alone, as the paper has it, a query that waits at all is
 * behind, and 8 to 34 % of the requests are dropped at 80 % load; with the rest of the SLO shared
 * out 0.1 % at most.
 */
export class DropRule {
  /** Queries that were given up because no batch would have been in time. */
  lateCount = 0;
  readonly #shape: PipelineShape;
  readonly #mode: LokiOptions["drop"];
  readonly #cluster: Cluster;
  readonly #router: Router;
  readonly #queries: QueryTable;
  readonly #queues: QueryQueues;
  readonly #estimate: FinishEstimate;
  readonly #paces: PaceMonitor;
  readonly #ties = new Rng(TIE_SEED, TIE_STREAM);

  constructor(
    shape: PipelineShape,
    mode: LokiOptions["drop"],
    cluster: Cluster,
    router: Router,
    queries: QueryTable,
    queues: QueryQueues,
    paces: PaceMonitor,
  ) {
    this.#paces = paces;
    this.#shape = shape;
    this.#mode = mode;
    this.#cluster = cluster;
    this.#router = router;
    this.#queries = queries;
    this.#queues = queues;
    this.#estimate = new FinishEstimate(shape, cluster, router, queues, paces);
  }

  /**
   * @param group that is planned. @param base of the queues in force.
   * @returns the group that a new query goes to; NONE if it is dropped.
   */
  choose(query: number, parent: number, group: number, nowMs: number, base: number): number {
    switch (this.#mode) {
      case "none":
        return group;
      case "last-task":
        return this.#hasTimeForLast(query, group, nowMs) ? group : NONE;
      case "per-task":
        return this.#overrunMs(parent, nowMs) > 0 ? NONE : group;
      case "reroute":
        return this.#reroute(parent, group, nowMs);
      case "deadline":
        return this.#inTime(query, group, nowMs, base);
    }
  }

  /** Whether a query cannot be in time whatever is done, and is not to be served then. */
  isHopeless(query: number, task: number, nowMs: number): boolean {
    if (this.#mode !== "deadline") return false;
    const fastestMs = this.#shape.fastestFromMs[task]! * this.#paces.poolPace;
    return nowMs + fastestMs > this.#queries.deadlineMs[query]!;
  }

  /**
   * Gives up queries that the next batch cannot serve in time, in mode `deadline`.
   * @returns how many of the queue the batch takes; 0 when none is left, `NOT_IN_TIME` if only a
   * faster worker can serve the first one.
   */
  formBatch(
    group: number,
    worker: number,
    nowMs: number,
    base: number,
    out: CommandBuffer,
  ): number {
    const { fleet } = this.#cluster;
    const queues = this.#queues;
    const paces = this.#paces;
    const pace = paces.paceOf(worker);
    const limit = this.#limitOf(group, worker, pace);
    const queue = base + group;
    if (this.#mode === "deadline") {
      const { serviceStart, serviceMs, taskByVariant, poolCount, poolByWorker } = this.#shape;
      const { deadlineMs } = this.#queries;
      const variant = fleet.model[worker]!;
      const start = serviceStart[variant * poolCount + poolByWorker[worker]!]!;
      const fromMs = nowMs + this.#estimate.restMs(taskByVariant[variant]!, base);
      for (let queued = queues.length(queue); queued > 0; queued--) {
        const batch = queued < limit ? queued : limit;
        const first = queues.first(queue);
        if (fromMs + serviceMs[start + batch - 1]! * pace <= deadlineMs[first]!) break;
        // A straggler serves what it can in time and leaves the rest to the others.
        if (!paces.isEven && this.#hasFaster(group, worker)) return NOT_IN_TIME;
        out.drop(0, queues.take(queue), DROP_LATE);
        this.lateCount++;
      }
    }
    return Math.min(queues.length(queue), limit);
  }

  /** Whether a worker is a straggler in a group that has others. */
  #hasFaster(group: number, worker: number): boolean {
    const paces = this.#paces;
    if (!paces.isStraggler(worker)) return false;
    const groups = this.#cluster.fleet.group;
    for (let other = 0; other < groups.length; other++) {
      if (groups[other] === group && !paces.isStraggler(other)) return true;
    }
    return false;
  }

  /** A worker that leaves its group may have the batch of another. */
  #limitOf(group: number, worker: number, pace: number): number {
    const planned = this.#cluster.fleet.batch[worker]!;
    const { layout } = this.#cluster;
    return Math.min(planned, batchAtPace(this.#shape, layout, group, pace));
  }

  /** Whether a query at a last task has time for a batch of its group. */
  #hasTimeForLast(query: number, group: number, nowMs: number): boolean {
    const { childStart } = this.#shape;
    const { layout } = this.#cluster;
    const task = layout.taskByGroup[group]!;
    if (childStart[task + 1]! > childStart[task]!) return true;
    const latencyMs = layout.latencyMsByGroup[group]! * this.#paces.poolPace;
    return nowMs + latencyMs <= this.#queries.deadlineMs[query]!;
  }

  /**
   * Returns the time of a served query at its task, waiting included, beyond its budget; 0 for a
   * request's own query.
   */
  #overrunMs(parent: number, nowMs: number): number {
    if (parent === NO_PARENT) return 0;
    const { arrivalMs, budgetMs } = this.#queries;
    return nowMs - this.#shape.hopMs - arrivalMs[parent]! - budgetMs[parent]!;
  }

  /**
   * The most accurate group with capacity left that makes up for the overrun; of equals one at
   * random.
   */
  #reroute(parent: number, group: number, nowMs: number): number {
    const overrunMs = this.#overrunMs(parent, nowMs);
    if (!(overrunMs > 0)) return group;
    const { layout, fleet } = this.#cluster;
    const { groupStart, latencyMsByGroup, accuracyByGroup } = layout;
    const router = this.#router;
    const task = layout.taskByGroup[group]!;
    const { poolPace } = this.#paces;
    const limitMs = latencyMsByGroup[group]! - overrunMs / poolPace;
    let best = NONE;
    let ties = 0;
    for (let other = groupStart[task]!; other < groupStart[task + 1]!; other++) {
      if (!router.hasSpare(other) || latencyMsByGroup[other]! > limitMs) continue;
      if (fleet.readyByGroup[other] === 0) continue;
      if (best !== NONE && accuracyByGroup[other]! < accuracyByGroup[best]!) break;
      // The k-th of k ties replaces the choice with probability 1 / k, so that all are equally
      // likely.
      ties++;
      if (ties === 1 || this.#ties.nextFloat() * ties < 1) best = other;
    }
    if (best !== NONE) router.takeSpare(best);
    return best;
  }

  /**
   * Returns the planned group if it is likely to serve the query in time; otherwise the most
   * accurate that is, or at least the fastest.
   */
  #inTime(query: number, group: number, nowMs: number, base: number): number {
    const estimate = this.#estimate;
    const { layout, fleet } = this.#cluster;
    const task = layout.taskByGroup[group]!;
    const restMs = this.#shape.fastestRestMs[task]! * this.#paces.poolPace;
    const leftMs = this.#queries.deadlineMs[query]! - nowMs - restMs;
    if (fleet.readyByGroup[group] === 0 || estimate.serveMs(group, 1, base) <= leftMs) return group;
    let soonest = group;
    let soonestMs = Number.POSITIVE_INFINITY;
    for (let other = layout.groupStart[task]!; other < layout.groupStart[task + 1]!; other++) {
      const ms = estimate.serveMs(other, 1, base);
      if (ms <= leftMs) return other;
      if (ms >= soonestMs) continue;
      soonestMs = ms;
      soonest = other;
    }
    // Whether it is dropped is decided when its batch would start: an estimate may be wrong.
    return soonest;
  }
}
