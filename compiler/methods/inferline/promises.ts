/** What a provisioned level promises: the mean cost is with the tuner at work. */
import type { InferlineBundle, InferlineLevel } from "stratagem-runtime/internal/bundle/schema";
import { inferlineMissed } from "stratagem-runtime/internal/methods/inferline/tell/missed";
import type { LevelPromises } from "../level-promises.ts";

export function inferlinePromises(bundle: InferlineBundle, level: InferlineLevel): LevelPromises {
  const { loadQps, feasible, expected, plan } = level;
  return {
    loadQps,
    feasible,
    missed: feasible ? [] : inferlineMissed(bundle, level),
    figures: {
      violations: expected.violationRate,
      p50: expected.latencyMsP50,
      p99: expected.latencyMsP99,
      cost: expected.costPerHour,
      workers: plan.stages.reduce((sum, { replicas }) => sum + replicas, 0),
    },
    classes: [],
    buckets: [],
  };
}
