import type { RequestTrace } from "../../compiler/simulate/graph/visits.ts";
import type { ThemisBundle } from "../../runtime/bundle/schema.ts";
import { naiveTimes } from "./naive-inferline.ts";

/**
 * Latency of every request while a level's plan is followed, NaN if it is dropped, by the obvious
 * simulation.
 */
export function naiveScaleLatencies(
  { tasks, levels, cluster, policy, slo }: ThemisBundle,
  level: number,
  trace: RequestTrace,
): number[] {
  const stages = (levels[level]?.steady.stages ?? []).map(({ batch, cores, instances }, task) => {
    const table = tasks[task]?.variants[0]?.latency.ms;
    const maxBatch = table?.shape[1] ?? 0;
    const latencyMs = table?.data.slice((cores - 1) * maxBatch, cores * maxBatch) ?? [];
    return { batch, servers: instances, latencyMs };
  });
  const giveUpAtMs = (policy.dropAfterSlos ?? Number.POSITIVE_INFINITY) * slo.latencyMs;
  return naiveTimes({ tasks, stages, hopMs: cluster.communicationLatencyMs, giveUpAtMs }, trace);
}
