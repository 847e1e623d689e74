/** Estimates when a query will be done, by the queues as they are. */
import { NONE, type PipelineShape } from "../../../core/graph/pipeline-shape.ts";
import type { PaceMonitor } from "../../../core/pace.ts";
import type { Cluster } from "./cluster.ts";
import { batchAtPace } from "./paced-plan.ts";
import type { QueryQueues } from "./query-queues.ts";
import type { Router } from "./router.ts";

/**
 * How long a query will take from here on, by the queues as they are.
 *
 * Whole batches ahead of it and one that runs, at the rate of the group's servers, and then its
 * own. Measured on the traffic chain at the capacity of its plans: what is counted of a later task
 * decides how much is started in vain. Without its queues 3 to 16 % of the requests are violated,
 * with them 0.1 to 1.4 %.
 */
export class FinishEstimate {
  readonly #shape: PipelineShape;
  readonly #cluster: Cluster;
  readonly #router: Router;
  readonly #queues: QueryQueues;
  /**
   * Scratch, [taskCount]: queries of a task that one query produces, and the time from their
   * arrival to the end.
   */
  readonly #count: Float64Array;
  readonly #fromMs: Float64Array;

  readonly #paces: PaceMonitor;

  constructor(
    shape: PipelineShape,
    cluster: Cluster,
    router: Router,
    queues: QueryQueues,
    paces: PaceMonitor,
  ) {
    this.#paces = paces;
    this.#shape = shape;
    this.#cluster = cluster;
    this.#router = router;
    this.#queues = queues;
    this.#count = new Float64Array(shape.taskCount);
    this.#fromMs = new Float64Array(shape.taskCount);
  }

  /**
   * Returns the time until the last of some queries that come to a group now is served.
   * @param base of the queues in force.
   */
  serveMs(group: number, count: number, base: number): number {
    const { layout, fleet } = this.#cluster;
    const ready = fleet.readyByGroup[group]!;
    if (ready === 0) return Number.POSITIVE_INFINITY;
    const { serviceMs, fastestFromMs, fastestRestMs } = this.#shape;
    const { poolPace } = this.#paces;
    const task = layout.taskByGroup[group]!;
    // Siblings may wait at an idle group too, until all queries of an event are in.
    const queued = this.#queues.length(base + group);
    const isIdle = fleet.idleOf(group) !== NONE;
    if (layout.stageByTask[task] != null) {
      // Its variants change with the queue, so only the rate that the plan assumes is known.
      const before = isIdle ? queued : queued + count;
      const aloneMs = fastestFromMs[task]! - fastestRestMs[task]!;
      return (1000 * before) / this.#cluster.capacityQps[group]! + aloneMs * poolPace;
    }
    const start = layout.serviceStartByGroup[group]!;
    const batch = batchAtPace(this.#shape, layout, group, poolPace);
    // The count is a mean, and may be below 1.
    const before = Math.max(0, queued + count - 1);
    const running = count <= 1 && isIdle ? 0 : 1;
    const ahead = Math.floor(before / batch) + running;
    const own = before < batch ? Math.floor(before) : batch - 1;
    const isWhole = batch === layout.batchByGroup[group]!;
    const batchMs = isWhole ? layout.latencyMsByGroup[group]! : serviceMs[start + batch - 1]!;
    return ((ahead * batchMs) / ready + serviceMs[start + own]!) * poolPace;
  }

  /**
   * Estimates the time from the end of a task to the end of all queries that follow, on the way
   * that is fastest now.
   */
  restMs(task: number, base: number): number {
    const { childStart, childTask, taskCount, hopMs } = this.#shape;
    if (childStart[task + 1] === childStart[task]) return 0;
    const { groupStart } = this.#cluster.layout;
    const { queriesByTask } = this.#router;
    const count = this.#count;
    const fromMs = this.#fromMs;
    count.fill(0);
    count[task] = 1;
    for (let parent = task; parent < taskCount; parent++) {
      if (count[parent] === 0) continue;
      for (let edge = childStart[parent]!; edge < childStart[parent + 1]!; edge++) {
        const child = childTask[edge]!;
        const perQuery = queriesByTask[child]! / queriesByTask[parent]!;
        count[child] = count[parent]! * (perQuery > 0 ? perQuery : 1);
      }
    }
    for (let parent = taskCount - 1; parent >= task; parent--) {
      if (count[parent] === 0) continue;
      let restMs = 0;
      for (let edge = childStart[parent]!; edge < childStart[parent + 1]!; edge++) {
        const childMs = hopMs + fromMs[childTask[edge]!]!;
        if (childMs > restMs) restMs = childMs;
      }
      if (parent === task) return restMs;
      let bestMs = Number.POSITIVE_INFINITY;
      for (let group = groupStart[parent]!; group < groupStart[parent + 1]!; group++) {
        const ms = this.serveMs(group, count[parent]!, base);
        if (ms < bestMs) bestMs = ms;
      }
      // A task without a ready worker gives no estimate.
      fromMs[parent] = restMs + (bestMs === Number.POSITIVE_INFINITY ? 0 : bestMs);
    }
    return 0;
  }
}
