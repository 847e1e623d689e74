/** InferLine beside the autoscalers that people run: recorded days, bursts, base–3x–base. */
import {
  shippedScaler,
  simulateScaled,
  tunedScaler,
} from "stratagem/internal/methods/inferline/scaler-baselines";
import {
  type InferlineSimulationOptions,
  type InferlineSimulationResult,
  simulateInferline,
} from "stratagem/internal/methods/inferline/simulate/simulate";
import type { InferlineBundle } from "stratagem-runtime/internal/bundle/schema";
import { present } from "../harness/numbers.ts";
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
import { AUTO, Planner } from "./planner.ts";
import type { PipelineName } from "./reference-pipelines.ts";

const BASE_QPS = 60;
const PEAK_QPS = 180;
/** Of the levels that carry the base and the peak, with a tenth to spare at the peak. */
const TWO_LOADS = [60, 198];
const DAY_LOADS = [10, 20, 30, 40];
const DAY_QPS = 20;

const SURGES: readonly TrafficPoint[] = [
  {
    name: "base-3x-base",
    about: "60, 180 and 60 requests/s, five minutes each",
    traffic: () =>
      steps([
        [300, BASE_QPS],
        [300, PEAK_QPS],
        [300, BASE_QPS],
      ]),
  },
  {
    name: "bursts-20s",
    about: "60 requests/s, and for 20 s in every five minutes 180",
    traffic: () => bursts(BASE_QPS, PEAK_QPS, { burstS: 20, everyS: 300, count: 4 }),
  },
  {
    name: "bursts-120s",
    about: "60 requests/s, and for two minutes in every ten 180",
    traffic: () => bursts(BASE_QPS, PEAK_QPS, { burstS: 120, everyS: 600, count: 2 }),
  },
  {
    name: "ramps",
    about: "60 to 180 requests/s and back, five minutes each way, twice",
    traffic: () => perSecond(Array.from({ length: 1200 }, (_, second) => rampAt(second))),
  },
];

const POINTS = [
  ...SURGES.map((point) => ({ ...point, loads: TWO_LOADS })),
  ...dayPoints(DAY_QPS).map((point) => ({ ...point, loads: DAY_LOADS })),
];

const SLO_MS: Readonly<Record<PipelineName, number>> = { cascade: 150, image: 350 };
const PIPELINES = Object.keys(SLO_MS) as PipelineName[];

export const scalers = scalersExperiment({
  unit: "$/h",
  pipelines: PIPELINES,
  pointsOf: () => POINTS,
  plansIn: (folder) => {
    const planner = new Planner(folder);
    return (name, { loads }) => {
      const pipeline = present(PIPELINES.find((one) => one === name));
      const traffic = { cv2: 1, loads };
      return planner.planned({ pipeline, sloMs: SLO_MS[pipeline], traffic, policy: AUTO });
    };
  },
  serversOf,
});

function serversOf(bundle: InferlineBundle, traffic: SeededTraffic): Servers {
  const options = { ...traffic, serviceTimes: "p95" } as const;
  const told = { ...options, timeline: true };
  return {
    ours: [
      { who: "InferLine", serve: () => servedBy(simulateInferline(bundle, told)) },
      { who: "its highest plan, fixed", serve: () => servedBy(fixedPeak(bundle, told)) },
    ],
    shipped: (scaler) => shippedScaler(bundle, options, scaler),
    tried: (scaler, ceiling) => tunedScaler(bundle, options, scaler, ceiling),
    serve: (scaler, planned) => servedBy(simulateScaled(bundle, told, scaler, planned)),
  };
}

function fixedPeak(
  bundle: InferlineBundle,
  options: InferlineSimulationOptions,
): InferlineSimulationResult {
  const policy = { ...bundle.policy, tuner: "none" } as const;
  return simulateInferline({ ...bundle, policy }, { ...options, level: bundle.levels.length - 1 });
}

function servedBy({ costPerHour, violationRate, timeline }: InferlineSimulationResult): Served {
  return { cost: costPerHour, violationRate, worstMinute: worstMinute(timeline) };
}

/** Up for five minutes, down for five. */
function rampAt(second: number): number {
  const part = (second % 600) / 300;
  const up = part < 1 ? part : 2 - part;
  return BASE_QPS + (PEAK_QPS - BASE_QPS) * up;
}
