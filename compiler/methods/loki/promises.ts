/** What a level of a pipeline's plans promises. */
import type { LokiBundle, LokiLevel } from "stratagem-runtime/internal/bundle/schema";
import { lokiMissed } from "stratagem-runtime/internal/methods/loki/tell/missed";
import { type LevelPromises, workerFigures } from "../level-promises.ts";

export function lokiPromises(bundle: LokiBundle, level: LokiLevel): LevelPromises {
  const { loadQps, feasible, expected, plan } = level;
  const { pools } = bundle.cluster;
  const workers = pools.map((_, pool) => {
    const own = plan.instances.filter((instance) => instance.pool === pool);
    return own.reduce((sum, { replicas }) => sum + replicas, 0);
  });
  return {
    loadQps,
    feasible,
    missed: feasible ? [] : lokiMissed(bundle, level),
    figures: {
      violations: expected.violationRate,
      accuracy: expected.accuracyPerSatisfied,
      accuracyPerQuery: expected.accuracyPerQuery,
      p50: expected.latencyMsP50,
      p99: expected.latencyMsP99,
      ...workerFigures(pools, workers),
    },
    classes: [],
    buckets: [],
  };
}
