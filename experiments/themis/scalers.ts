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
import { SCALER_NAMES } from "stratagem/internal/simulate/graph/scalers/scalers";
import { type ThemisBundle, violationCeiling } from "stratagem-runtime/internal/bundle/schema";
import type { Experiment, Run } from "../harness/experiment.ts";
import { mean } from "../harness/numbers.ts";
import {
  type ComparedPoint,
  type Served,
  tellPoint,
  tellVerdicts,
  type Verdict,
} from "../scalers/compared-point.ts";
import {
  bursts,
  hoursOf,
  perSecond,
  type RatedTraffic,
  steps,
  twitterDay,
} from "../scalers/rates.ts";
import { worstMinute } from "../scalers/worst-minute.ts";
import { compiledPipeline, PIPELINES, type PipelineName, themisInputs } from "./reference-apps.ts";

/** Of the traffic; no other experiment and no test has it. */
const SEED = 90_210;
/** Part of a day that is simulated, and part of it that settings are tried on. */
const DAY_H = [6, 18] as const;
const EXCERPT_H = [11, 12] as const;
const DAY_FINALISTS = 2;

interface TrafficPoint {
  readonly name: string;
  readonly about: string;
  /** @param meanQps of the pipeline's share of the burst slice. */
  readonly traffic: (meanQps: number) => RatedTraffic;
  readonly excerpt?: (meanQps: number) => RatedTraffic;
}

/** The burst slice, as a multiple of its mean. */
function sliceShape(): number[] {
  const counts = themisInputs().traces.twitterSlice570.rps;
  const middle = mean(counts);
  return counts.map((count) => count / middle);
}

const POINTS: readonly TrafficPoint[] = [
  {
    name: "slice",
    about: "the paper's burst slice",
    traffic: (qps) => perSecond(sliceShape().map((part) => part * qps)),
  },
  {
    name: "base-3x-base",
    about: "the slice's mean rate, three times as much and the mean again, five minutes each",
    traffic: (qps) =>
      steps([
        [300, qps],
        [300, 3 * qps],
        [300, qps],
      ]),
  },
  {
    name: "bursts-20s",
    about: "the slice's mean rate, and for 20 s in every two minutes three times as much",
    traffic: (qps) => bursts(qps, 3 * qps, { burstS: 20, everyS: 120, count: 8 }),
  },
  ...[13, 14].map((day): TrafficPoint => {
    return {
      name: `day-${day}`,
      about: `day ${day} of the recording from 6 to 18, at the slice's mean rate`,
      traffic: (qps) => hoursOf(twitterDay(day, qps), ...DAY_H),
      excerpt: (qps) => hoursOf(twitterDay(day, qps), ...EXCERPT_H),
    };
  }),
];

export const scalers: Experiment = {
  name: "scalers",
  about: "beside KPA, HPA, KEDA, Ray Serve, Dynamo and INFaaS, as shipped and tuned in hindsight",
  takes: "an hour",
  isExtra: true,
  options: {
    point: `of ${POINTS.map(({ name }) => name).join(", ")}; all`,
    pipeline: `of ${PIPELINES.join(", ")}; all`,
    who: `of ${SCALER_NAMES.join(", ")}; all`,
    seed: `of the traffic; ${SEED}`,
  },
  run: async (run) => {
    const names = run.flags.among("who", SCALER_NAMES) ?? SCALER_NAMES;
    const wanted = run.flags.texts("point");
    const verdicts: Verdict[] = [];
    for (const pipeline of run.flags.among("pipeline", PIPELINES) ?? PIPELINES) {
      const bundle = await compiledPipeline(run.folder, pipeline);
      for (const point of POINTS) {
        if (wanted !== undefined && !wanted.includes(point.name)) continue;
        verdicts.push(tellPoint(run.page, comparedPoint(run, bundle, pipeline, point), names));
      }
    }
    tellVerdicts(run.page, verdicts);
  },
};

function comparedPoint(
  { flags }: Run,
  bundle: ThemisBundle,
  pipeline: PipelineName,
  { name, about, traffic, excerpt }: TrafficPoint,
): ComparedPoint {
  const { traces } = themisInputs();
  const divider = traces.evalSlice.dividersPaperEra[pipeline];
  const meanQps = mean(traces.twitterSlice570.rps) / divider;
  const seed = flags.number("seed") ?? SEED;
  const all = { ...traffic(meanQps), seed, timeline: true };
  const part = excerpt === undefined ? null : { ...excerpt(meanQps), seed };
  const tried = part ?? { ...traffic(meanQps), seed };
  return {
    name: `${pipeline} ${name}`,
    about: `${about} (${meanQps.toFixed(1)} requests/s)`,
    unit: "cores",
    ceiling: violationCeiling(bundle.slo),
    finalists: part === null ? 1 : DAY_FINALISTS,
    ours: [{ who: "Stratagem", serve: () => servedBy(simulateThemis(bundle, all)) }],
    shipped: (scaler) => shippedInstanceScaler(bundle, all, scaler),
    tried: (scaler, ceiling) => tunedInstanceScaler(bundle, tried, scaler, ceiling),
    serve: (scaler, planned) => servedBy(simulateScaledInstances(bundle, all, scaler, planned)),
  };
}

function servedBy({ cores, violationRate, timeline }: ThemisSimulationResult): Served {
  return { cost: cores.mean, violationRate, worstMinute: worstMinute(timeline) };
}
