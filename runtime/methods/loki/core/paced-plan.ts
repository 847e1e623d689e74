/** Says what a plan carries, and in what batches, on a machine that is slower than profiled. */
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

/** Requests per second that a plan carries at a pace. */
export function carriedAtPace(shape: PipelineShape, layout: PlanLayout, pace: number): number {
  let carriedQps = layout.carriedQps / pace;
  if (pace <= layout.pace) return carriedQps;
  const room = layout.demandQps / layout.carriedQps;
  for (let group = 0; group < layout.groupCount; group++) {
    const perRequest = layout.queriesByGroup[group]! * room;
    const task = layout.taskByGroup[group]!;
    if (!(perRequest > 0) || layout.stageByTask[task] != null) continue;
    const speed = speedAtPace(shape, layout, group, pace);
    const own = (speed * layout.plannedQpsByGroup[group]!) / perRequest;
    if (own < carriedQps) carriedQps = own;
  }
  return carriedQps;
}
