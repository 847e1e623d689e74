/** What a scaled level promises while its load is steady. */
import type { ThemisBundle, ThemisLevel } from "stratagem-runtime/internal/bundle/schema";
import {
  hasChoice,
  planAccuracy,
} from "stratagem-runtime/internal/methods/themis/core/plan-accuracy";
import { themisMissed } from "stratagem-runtime/internal/methods/themis/tell/missed";
import { costFigure, type LevelPromises } from "../level-promises.ts";

export function themisPromises(bundle: ThemisBundle, level: ThemisLevel): LevelPromises {
  const { loadQps, feasible, steady } = level;
  const { cores, stages, expected } = steady;
  const { pools } = bundle.cluster;
  // Prices are of workers, and plans take cores of them.
  const machines = pools.map((pool, index) => {
    const held = stages.map((stage, task) => {
      const own = bundle.tasks[task]?.variants[stage.variant ?? 0]?.pool ?? 0;
      return own === index ? stage.cores * stage.instances : 0;
    });
    return held.reduce((sum, one) => sum + one, 0) / (pool.cores ?? 1);
  });
  const { tasks } = bundle;
  return {
    loadQps,
    feasible,
    missed: feasible ? [] : themisMissed(bundle, level),
    figures: {
      ...(hasChoice(tasks) ? { accuracy: planAccuracy(tasks, stages) } : {}),
      violations: expected.violationRate,
      p50: expected.latencyMsP50,
      p99: expected.latencyMsP99,
      workers: stages.reduce((sum, { instances }) => sum + instances, 0),
      cores: expected.cores ?? cores,
      ...(expected.costPerHour === undefined
        ? costFigure(pools, machines)
        : { cost: expected.costPerHour }),
    },
    classes: [],
    buckets: [],
  };
}
