/** Computes what a plan carries, and in what batches, on a machine that is slower than profiled. */
import type { PipelineShape } from "../../../core/graph/pipeline-shape.ts";
import type { PlanLayout } from "./plan-layout.ts";

/** The largest batch of a group that takes no longer than the plan gives it. */
export function batchAtPace(
  shape: PipelineShape,
  layout: PlanLayout,
  group: number,
  pace: number,
): number {
  let batch = layout.batchByGroup[group]!;
  if (pace <= layout.pace) return batch;
  const limitMs = layout.latencyMsByGroup[group]! * layout.pace;
  const start = layout.serviceStartByGroup[group]!;
  while (batch > 1 && shape.serviceMs[start + batch - 1]! * pace > limitMs) batch--;
  return batch;
}

/** Part of the throughput as profiled that a server of a group has at a pace. */
export function speedAtPace(
  shape: PipelineShape,
  layout: PlanLayout,
  group: number,
  pace: number,
): number {
  const most = layout.batchByGroup[group]!;
  const batch = batchAtPace(shape, layout, group, pace);
  if (batch === most) return 1 / pace;
  const { serviceMs } = shape;
  const start = layout.serviceStartByGroup[group]!;
  return (batch * serviceMs[start + most - 1]!) / (most * serviceMs[start + batch - 1]! * pace);
}

/** Part of the capacity of a plan that its load may take on a slower machine. */
const FILLED = 0.95;

/** Part used of what a plan carries on a slower machine, as pace and demand are estimates. */
const ROOM = 0.88;

/**
 * Returns the requests per second that a plan carries with servers of these capacities, by group.
 */
export function carriedByServers(layout: PlanLayout, capacityQps: Float64Array): number {
  const room = layout.demandQps / layout.carriedQps;
  let carriedQps = Number.POSITIVE_INFINITY;
  for (let group = 0; group < layout.groupCount; group++) {
    const perRequest = layout.queriesByGroup[group]! * room;
    if (!(perRequest > 0)) continue;
    carriedQps = Math.min(carriedQps, (FILLED * capacityQps[group]!) / perRequest);
  }
  return carriedQps;
}

/**
 * Requests per second that a plan carries at a pace: on a machine as profiled its load, and on a
 * slower one that over the pace, or more where its servers have capacity to spare.
 */
export function carriedAtPace(shape: PipelineShape, layout: PlanLayout, pace: number): number {
  if (pace <= 1) return layout.carriedQps / pace;
  const room = layout.demandQps / layout.carriedQps;
  let capacityQps = Number.POSITIVE_INFINITY;
  let speed = 1 / pace;
  for (let group = 0; group < layout.groupCount; group++) {
    const perRequest = layout.queriesByGroup[group]! * room;
    if (!(perRequest > 0)) continue;
    const isTable = layout.stageByTask[layout.taskByGroup[group]!] != null;
    const own = isTable ? 1 / pace : speedAtPace(shape, layout, group, pace);
    speed = Math.min(speed, own);
    capacityQps = Math.min(capacityQps, (own * layout.plannedQpsByGroup[group]!) / perRequest);
  }
  return ROOM * Math.max(layout.carriedQps * speed, FILLED * capacityQps);
}
