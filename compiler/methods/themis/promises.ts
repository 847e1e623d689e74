/** What a scaled level promises while its load is steady. */
import type { ThemisBundle, ThemisLevel } from "stratagem-runtime/internal/bundle/schema";
import { themisMissed } from "stratagem-runtime/internal/methods/themis/tell/missed";
import { costFigure, type LevelPromises } from "../level-promises.ts";

export function themisPromises(bundle: ThemisBundle, level: ThemisLevel): LevelPromises {
  const { loadQps, feasible, steady } = level;
  const { cores, stages, expected } = steady;
  const { pools } = bundle.cluster;
  // Prices are of workers, and plans take cores of them.
  const machines = pools.map((pool, index) => (index === 0 ? cores / (pool.cores ?? 1) : 0));
  return {
    loadQps,
    feasible,
    missed: feasible ? [] : themisMissed(bundle, level),
    figures: {
      violations: expected.violationRate,
      p50: expected.latencyMsP50,
      p99: expected.latencyMsP99,
      workers: stages.reduce((sum, { instances }) => sum + instances, 0),
      cores,
      ...costFigure(pools, machines),
    },
    classes: [],
    buckets: [],
  };
}
