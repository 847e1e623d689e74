/** What a level of malleable pipelines promises; the places are the same at every load. */
import type { AccordionBundle, AccordionLevel } from "stratagem-runtime/internal/bundle/schema";
import { accordionMissed } from "stratagem-runtime/internal/methods/accordion/tell/missed";
import { type LevelPromises, workerFigures } from "../level-promises.ts";

export function accordionPromises(bundle: AccordionBundle, level: AccordionLevel): LevelPromises {
  const { loadQps, feasible, expected } = level;
  return {
    loadQps,
    feasible,
    missed: feasible ? [] : accordionMissed(bundle, level),
    figures: {
      violations: expected.violationRate,
      p50: expected.latencyMsP50,
      p99: expected.latencyMsP99,
      ...workerFigures(bundle.cluster.pools, usedWorkers(bundle)),
    },
    classes: [],
    buckets: [],
  };
}

/** The workers of the pools in their order, as many as there are places. */
function usedWorkers({ cluster, policy }: AccordionBundle): number[] {
  let left = policy.executionPlaces;
  return cluster.pools.map(({ workers }) => {
    const used = Math.min(workers, left);
    left -= used;
    return used;
  });
}
