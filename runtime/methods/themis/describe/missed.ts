/**
 * Limits that a level of scaled plans misses: its plan's load, cores, or the ceiling on violations.
 */
import {
  type LatencyByCores,
  type ThemisBundle,
  type ThemisLevel,
  violationCeiling,
} from "../../../bundle/schema.ts";
import { type MissedLimit, missedByRates } from "../../../describe/missed-limits.ts";
import { latencyAt } from "./plan-view.ts";

export function themisMissed(
  bundle: Pick<ThemisBundle, "slo" | "tasks" | "cluster">,
  level: ThemisLevel,
): MissedLimit[] {
  const { violationRate } = level.steady.expected;
  const missed = missedByRates(level, [{ violationRate }], violationCeiling(bundle.slo));
  const found = leastCores(bundle, level);
  const allowed = bundle.cluster.pools.reduce(
    (sum, { workers, cores }) => sum + workers * (cores ?? 1),
    0,
  );
  if (level.feasible || found <= allowed) return missed;
  return [...missed, { limit: "cores", found, allowed }];
}

/**
 * Returns the cores that carry the load with full batches and no waiting, each task on instances of
 * the best variant and size.
 */
function leastCores(
  { tasks }: Pick<ThemisBundle, "tasks">,
  { loadQps }: Pick<ThemisLevel, "loadQps">,
): number {
  return tasks.reduce((sum, { variants, scaleFactor }) => {
    const least = variants.map(({ latency }) => leastCoresOf(latency, loadQps * scaleFactor));
    return sum + Math.min(...least);
  }, 0);
}

function leastCoresOf(latency: LatencyByCores, taskQps: number): number {
  const [maxCores = 0, maxBatch = 0] = latency.ms.shape;
  let least = Number.POSITIVE_INFINITY;
  for (let cores = 1; cores <= maxCores; cores++) {
    for (let batch = 1; batch <= maxBatch; batch++) {
      const qps = (1000 * batch) / latencyAt(latency, batch, cores);
      least = Math.min(least, cores * Math.ceil(taskQps / qps));
    }
  }
  return least;
}
