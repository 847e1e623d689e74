/** Frames of bundles whose latencies have the serving path, as solvers and bounds see them. */
import type { DecisionSpace, ServiceTimes } from "stratagem-runtime/internal/bundle/schema";
import type { RamsisFrame } from "../../model/frames.ts";
import { stretchedQuantiles, stretchedTable, withoutPath } from "../../model/planned-times.ts";

/** What solvers are handed: the SLO less its margin, and all times as workers stretch them. */
export function planningFrame(frame: RamsisFrame): RamsisFrame {
  const { serving } = frame.cluster;
  if (serving === undefined) return frame;
  const { stretch = 1 } = serving;
  const { buckets, ...planned } = withoutPath(frame);
  const timesOf = (times: ServiceTimes) => stretchedQuantiles(times, stretch);
  return {
    ...planned,
    tasks: planned.tasks.map((task) => ({ ...task, serviceTimes: timesOf(task.serviceTimes) })),
    ...(buckets !== undefined && {
      buckets: buckets.map((one) => ({ ...one, serviceTimes: timesOf(one.serviceTimes) })),
    }),
  };
}

/** What bounds are computed of: models alone, as measured, with all of the SLO. */
export function boundingFrame(frame: RamsisFrame): RamsisFrame {
  const { serving, ...cluster } = frame.cluster;
  const { stretch = 1, marginMs = 0 } = serving ?? {};
  const timesOf = (times: ServiceTimes): ServiceTimes => {
    return { ...times, decisionMs: stretchedTable(times.decisionMs, 1 / stretch) };
  };
  const { buckets, classSpaces, slo } = frame;
  return {
    ...frame,
    cluster,
    tasks: frame.tasks.map((task) => ({ ...task, serviceTimes: timesOf(task.serviceTimes) })),
    decisionSpace: longer(frame.decisionSpace, marginMs),
    ...(classSpaces !== undefined && {
      classSpaces: classSpaces.map((space) => longer(space, marginMs)),
    }),
    ...(buckets !== undefined && {
      buckets: buckets.map((one) => {
        return { ...longer(one, marginMs), serviceTimes: timesOf(one.serviceTimes) };
      }),
    }),
    slo,
  };
}

/** Its slacks end so much later. */
function longer<S extends Pick<DecisionSpace, "slackMs">>(space: S, byMs: number): S {
  const data = Float64Array.from(space.slackMs.data);
  data[data.length - 1] = (data.at(-1) ?? 0) + byMs;
  return { ...space, slackMs: { ...space.slackMs, data } };
}
