/** Converts a frame to the decision problem that the planner solves. */
import { priceMicros, violationCeiling } from "stratagem-runtime/internal/bundle/schema";
import { taskGraphOf } from "stratagem-runtime/internal/core/graph/task-graph";
import { aloneMs } from "../../../graph/served-tasks.ts";
import type { InferlineFrame } from "../../../model/frames.ts";
import type { ProvisioningProblem, TaskHardware } from "./problem.ts";

export function provisioningProblem(frame: InferlineFrame): ProvisioningProblem {
  const { tasks, cluster, slo } = frame;
  return {
    graph: taskGraphOf(frame),
    stages: tasks.map(({ name, variants }) => ({
      name,
      hardware: variants
        .flatMap(({ profiles }, variant) =>
          profiles.flatMap((profile, pool): TaskHardware[] => {
            const priced = cluster.pools[pool];
            if (profile === null || priced === undefined) return [];
            const { data } = profile.serviceTimes.decisionMs;
            const batchMs = Float64Array.from(data);
            const batches = efficientSizes(Array.from(profile.batches.data), batchMs);
            return [{ variant, pool, price: priceMicros(priced), batches, batchMs }];
          }),
        )
        .sort((a, b) => a.price - b.price || aloneMs(a) - aloneMs(b) || a.pool - b.pool),
    })),
    workersByPool: cluster.pools.map(({ workers }) => workers),
    sloMs: slo.latencyMs,
    hopMs: cluster.communicationLatencyMs,
    violationCeiling: violationCeiling(slo),
  };
}

/**
 * Sizes with a higher throughput than every smaller one; a batch that serves no more and takes
 * longer is not worth trying. Source: the authors prune their profiles in this way.
 */
function efficientSizes(sizes: readonly number[], batchMs: Float64Array): number[] {
  let best = 0;
  return sizes.filter((size) => {
    const throughput = size / (batchMs[size - 1] ?? Number.POSITIVE_INFINITY);
    if (throughput <= best) return false;
    best = throughput;
    return true;
  });
}
