import { simulateAccordion } from "../../../../../compiler/methods/accordion/simulate/simulate.ts";
import {
  type AccordionBundle,
  type AccordionLevel,
  violationCeiling,
} from "../../../../../runtime/bundle/schema.ts";
import {
  type AccordionBundleSketch,
  accordionBundle,
} from "../../../../support/accordion-bundle.ts";

const SEED = 1;
const MEAN_OF_P95 = 0.96;

/** The bundle with levels as their simulations give them, `queries` each. */
export function simulatedLevels(
  bundle: AccordionBundle,
  loadsQps: readonly number[],
  queries: number,
): AccordionBundle {
  const capacityQps = bundle.levels[0]?.capacityQps ?? 0;
  const levels = loadsQps.map((loadQps): AccordionLevel => {
    const durationMs = 1000 * Math.ceil(queries / loadQps);
    const arrivals = { kind: "poisson", qps: loadQps } as const;
    const outcome = simulateAccordion(bundle, { arrivals, durationMs, seed: SEED });
    const { violationRate, dropped, latencyMs, occupancy, activeQueries } = outcome;
    return {
      loadQps,
      feasible: loadQps <= capacityQps && violationRate <= violationCeiling(bundle.slo),
      capacityQps,
      expected: {
        violationRate,
        droppedRate: dropped / outcome.queries,
        latencyMsP50: latencyMs?.p50 ?? 0,
        latencyMsP99: latencyMs?.p99 ?? 0,
        occupancy,
        activeQueries: activeQueries.mean,
        reconfigurations: outcome.reconfigurations / outcome.queries,
        queries: outcome.queries,
        seed: SEED,
        durationMs,
      },
    };
  });
  return { ...bundle, levels };
}

/**
 * A deep, a shallow and a lopsided model of twelve places; the highest load is beyond what they
 * carry.
 */
export function placeSample(sketch: AccordionBundleSketch = {}): AccordionBundle {
  const bundle = accordionBundle({
    models: [
      { name: "deep", accuracy: 0.9, layerMs: [4, 6, 3, 7, 5, 5, 2, 8, 4, 3] },
      { name: "small", accuracy: 0.8, layerMs: [3, 2] },
      { name: "lopsided", accuracy: 0.85, layerMs: [3, 12, 2, 4] },
    ],
    places: 12,
    maxBatch: 12,
    maxDepth: 6,
    sloMs: 180,
    maxViolationRate: 0.01,
    policy: { meanBatch: 3 },
    ...sketch,
  });
  return simulatedLevels(measured(bundle, 4), [20, 60, 100, 140, 170], 600);
}

/**
 * The first model on so many places as if its stages had been measured: in the mean a step is
 * shorter than the heaviest stage at its 95th percentile.
 */
function measured(bundle: AccordionBundle, mostPlaces: number): AccordionBundle {
  const { maxBatch } = bundle.policy;
  const tasks = bundle.tasks.map((task) => ({
    ...task,
    variants: task.variants.map((model, index) => {
      if (index > 0) return model;
      const data = Float64Array.from(model.latencyMs.data);
      const alone = (model.pipelines[0]?.stepMs ?? 0) * MEAN_OF_P95;
      const pipelines = model.pipelines.map((pipeline, shape) => {
        if (pipeline === null) return null;
        if (pipeline.pools.length > mostPlaces) {
          return { ...pipeline, speedup: alone / pipeline.stepMs };
        }
        const stepMs = pipeline.stepMs * MEAN_OF_P95;
        const fillMs = pipeline.stageMs.reduce((sum, ms) => sum + ms, 0);
        for (let at = 0; at < maxBatch; at++) data[shape * maxBatch + at] = fillMs + at * stepMs;
        return { ...pipeline, stepMs, speedup: alone / stepMs, isMeasured: true };
      });
      return { ...model, pipelines, latencyMs: { ...model.latencyMs, dtype: "float64", data } };
    }),
  }));
  return { ...bundle, tasks } as AccordionBundle;
}
