/**
 * Limits that a provisioned level misses: its plan's load, workers, or the ceiling on violations.
 */
import {
  type InferlineBundle,
  type InferlineLevel,
  violationCeiling,
} from "../../../bundle/schema.ts";
import { type MissedLimit, missedByRates } from "../../../describe/missed-limits.ts";
import { pooledWorkers } from "../../../describe/serving-summary.ts";
import { bestThroughputQps } from "./task-limits.ts";

export function inferlineMissed(
  bundle: Pick<InferlineBundle, "slo" | "tasks" | "cluster">,
  level: InferlineLevel,
): MissedLimit[] {
  const { violationRate } = level.expected;
  const missed = missedByRates(level, [{ violationRate }], violationCeiling(bundle.slo));
  const found = leastWorkers(bundle, level);
  const allowed = pooledWorkers(bundle);
  if (level.feasible || found <= allowed) return missed;
  return [...missed, { limit: "workers", found, allowed }];
}

/** Returns the workers that carry the mean load, each task on the hardware that needs fewest. */
function leastWorkers(
  { tasks }: Pick<InferlineBundle, "tasks">,
  { loadQps, plan }: InferlineLevel,
): number {
  return tasks.reduce((sum, { variants }, task) => {
    const profiles = variants.flatMap((variant) => variant.profiles.filter((one) => one !== null));
    const mostQps = Math.max(...profiles.map(bestThroughputQps));
    const taskQps = loadQps * (plan.stages[task]?.scaleFactor ?? 0);
    return sum + Math.max(1, Math.ceil(taskQps / mostQps));
  }, 0);
}
