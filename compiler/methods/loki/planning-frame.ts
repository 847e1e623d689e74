/** Loki's frames as planners see them: models alone, with times stretched by contention. */
import type { PipelinePlan } from "stratagem-runtime/internal/bundle/schema";
import { pathTo } from "../../graph/flat-tasks.ts";
import type { LokiFrame } from "../../model/frames.ts";
import { framesByStretch } from "../../model/planned-frames.ts";
import { stretchedProfile, withoutPath } from "../../model/planned-times.ts";
import { plannedStretch } from "../../simulate/serving/planned-contention.ts";
import { pipelineProblem } from "./solve/problem.ts";

/** Its SLO is what decisions may spend, and its times are stretched. */
export const planningFrame = framesByStretch((frame: LokiFrame, stretch: number): LokiFrame => {
  if (frame.cluster.serving === undefined) return frame;
  return {
    ...withoutPath(frame),
    tasks: frame.tasks.map((task) => ({
      ...task,
      variants: task.variants.map((variant) => ({
        ...variant,
        profiles: variant.profiles.map((profile) => stretchedProfile(profile, stretch)),
      })),
    })),
  };
});

/** Batches that a request takes part in, one after the other, on the longest path. */
export function longestPath({ tasks, leaves }: LokiFrame): number {
  return Math.max(...leaves.map(({ task }) => pathTo(tasks, task).length));
}

/** Returns the frame that a plan was made with, whose times are the plan's. */
export function frameOfPlan(
  frame: LokiFrame,
  loadQps: number,
  { instances }: PipelinePlan,
): LokiFrame {
  const { serving, pools } = frame.cluster;
  const [instance] = instances;
  if (serving?.stretch === undefined || instance === undefined) return planningFrame(frame, 1);
  const { task, variant, pool, batch, latencyMs } = instance;
  const profile = frame.tasks[task]?.variants[variant]?.profiles[pool];
  const row = profile?.batches.data.indexOf(batch) ?? -1;
  const profiledMs = profile?.latencyMs.data[row] ?? Number.NaN;
  const workers = pools.reduce((sum, one) => sum + one.workers, 0);
  const batches = longestPath(frame);
  for (let busy = 0; busy <= workers; busy++) {
    const stretch = busy === 0 ? 1 : plannedStretch(serving, busy, loadQps, batches);
    if (profiledMs * stretch === latencyMs) return planningFrame(frame, stretch);
  }
  throw new RangeError("no number of busy workers gives the times of the plan");
}

/** Returns whether every path can be served in time, with the fastest variant of each task. */
export function isServable(frame: LokiFrame): boolean {
  const { tasks, leaves } = pipelineProblem(frame);
  return leaves.every(({ path, latencyLimitMs }) => {
    const leastMs = path.map((task) =>
      Math.min(
        ...(tasks[task]?.variants ?? []).flatMap(({ configurations }) =>
          configurations.map(({ latencyMs }) => latencyMs),
        ),
      ),
    );
    return leastMs.reduce((sum, ms) => sum + ms, 0) <= latencyLimitMs;
  });
}
