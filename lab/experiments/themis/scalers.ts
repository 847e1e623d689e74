/** Themis beside the autoscalers that people run: the burst slice, recorded days, base–3x–base. */
import {
  shippedInstanceScaler,
  simulateScaledInstances,
  tunedInstanceScaler,
} from "stratagem/internal/methods/themis/scaler-baselines";
import {
  simulateThemis,
  type ThemisSimulationResult,
} from "stratagem/internal/methods/themis/simulate/simulate";
import type { ThemisBundle } from "stratagem-runtime/internal/bundle/schema";
import { mean, present } from "../harness/numbers.ts";
import type { Served } from "../scalers/compared-point.ts";
import { bursts, perSecond, steps } from "../scalers/rates.ts";
import {
  dayPoints,
  type SeededTraffic,
  type Servers,
  scalersExperiment,
  type TrafficPoint,
} from "../scalers/scalers-experiment.ts";
import { worstMinute } from "../scalers/worst-minute.ts";
import { compiledPipeline, PIPELINES, type PipelineName, themisInputs } from "./reference-apps.ts";

/** At the mean rate of a pipeline's share of the burst slice. */
function pointsOf(name: string): TrafficPoint[] {
  const { traces } = themisInputs();
  const slice = traces.twitterSlice570.rps;
  const divider = traces.evalSlice.dividersPaperEra[pipelineOf(name)];
  const qps = mean(slice) / divider;
  const rate = `(${qps.toFixed(1)} requests/s)`;
  return [
    {
      name: "slice",
      about: `the paper's burst slice ${rate}`,
      traffic: () => perSecond(slice.map((count) => count / divider)),
    },
    {
      name: "base-3x-base",
      about: `the slice's mean rate ${rate}, three times as much and the mean, five minutes each`,
      traffic: () =>
        steps([
          [300, qps],
          [300, 3 * qps],
          [300, qps],
        ]),
    },
    {
      name: "bursts-20s",
      about: `the slice's mean rate ${rate}, and three times as much for 20 s in every two minutes`,
      traffic: () => bursts(qps, 3 * qps, { burstS: 20, everyS: 120, count: 8 }),
    },
    ...dayPoints(qps),
  ];
}

export const scalers = scalersExperiment({
  unit: "cores",
  pipelines: PIPELINES,
  pointsOf,
  plansIn: (folder) => {
    const bundles = new Map<string, Promise<ThemisBundle>>();
    return (name) => {
      const bundle = bundles.get(name) ?? compiledPipeline(folder, pipelineOf(name));
      bundles.set(name, bundle);
      return bundle;
    };
  },
  serversOf,
});

function pipelineOf(name: string): PipelineName {
  return present(PIPELINES.find((one) => one === name));
}

function serversOf(bundle: ThemisBundle, traffic: SeededTraffic): Servers {
  const told = { ...traffic, timeline: true };
  return {
    ours: [{ who: "Stratagem", serve: () => servedBy(simulateThemis(bundle, told)) }],
    shipped: (scaler) => shippedInstanceScaler(bundle, traffic, scaler),
    tried: (scaler, ceiling) => tunedInstanceScaler(bundle, traffic, scaler, ceiling),
    serve: (scaler, planned) => servedBy(simulateScaledInstances(bundle, told, scaler, planned)),
  };
}

function servedBy({ cores, violationRate, timeline }: ThemisSimulationResult): Served {
  return { cost: cores.mean, violationRate, worstMinute: worstMinute(timeline) };
}
