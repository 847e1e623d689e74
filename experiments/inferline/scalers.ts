/** InferLine beside the autoscalers that people run: recorded days, bursts, base–3x–base. */
import {
  shippedScaler,
  simulateScaled,
  tunedScaler,
} from "stratagem/internal/methods/inferline/scaler-baselines";
import {
  type InferlineSimulationResult,
  simulateInferline,
} from "stratagem/internal/methods/inferline/simulate/simulate";
import { SCALER_NAMES } from "stratagem/internal/simulate/graph/scalers/scalers";
import { type InferlineBundle, violationCeiling } from "stratagem-runtime/internal/bundle/schema";
import type { Experiment, Run } from "../harness/experiment.ts";
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
import { AUTO, Planner } from "./planner.ts";
import type { PipelineName } from "./reference-pipelines.ts";

/** Of the traffic; no other experiment and no test has it. */
const SEED = 90_210;
const BASE_QPS = 60;
const PEAK_QPS = 180;
/** Of the levels that carry the base and the peak, with a tenth to spare at the peak. */
const TWO_LOADS = [60, 198];
const DAY_LOADS = [10, 20, 30, 40];
const DAY_QPS = 20;
/** Part of a day that is served, and part of it that settings are tried on before that. */
const DAY_H = [6, 18] as const;
const EXCERPT_H = [11, 12] as const;
const DAY_FINALISTS = 2;

interface TrafficPoint {
  readonly name: string;
  readonly about: string;
  readonly loads: readonly number[];
  readonly traffic: () => RatedTraffic;
  /** What settings are tried on; left out, all of it. */
  readonly excerpt?: () => RatedTraffic;
}

const POINTS: readonly TrafficPoint[] = [
  {
    name: "base-3x-base",
    about: "60, 180 and 60 requests/s, five minutes each",
    loads: TWO_LOADS,
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
    loads: TWO_LOADS,
    traffic: () => bursts(BASE_QPS, PEAK_QPS, { burstS: 20, everyS: 300, count: 4 }),
  },
  {
    name: "bursts-120s",
    about: "60 requests/s, and for two minutes in every ten 180",
    loads: TWO_LOADS,
    traffic: () => bursts(BASE_QPS, PEAK_QPS, { burstS: 120, everyS: 600, count: 2 }),
  },
  {
    name: "ramps",
    about: "60 to 180 requests/s and back, five minutes each way, twice",
    loads: TWO_LOADS,
    traffic: () => perSecond(Array.from({ length: 1200 }, (_, second) => rampAt(second))),
  },
  ...[13, 14].map((day): TrafficPoint => {
    return {
      name: `day-${day}`,
      about: `day ${day} of the recording from 6 to 18, a mean day of ${DAY_QPS} requests/s`,
      loads: DAY_LOADS,
      traffic: () => hoursOf(twitterDay(day, DAY_QPS), ...DAY_H),
      excerpt: () => hoursOf(twitterDay(day, DAY_QPS), ...EXCERPT_H),
    };
  }),
];

const PIPELINES: readonly (readonly [PipelineName, number])[] = [
  ["cascade", 150],
  ["image", 350],
];

export const scalers: Experiment = {
  name: "scalers",
  about: "beside KPA, HPA, KEDA, Ray Serve, Dynamo and INFaaS, as shipped and tuned in hindsight",
  takes: "an hour",
  isExtra: true,
  options: {
    point: `of ${POINTS.map(({ name }) => name).join(", ")}; all`,
    pipeline: "cascade or image; both",
    who: `of ${SCALER_NAMES.join(", ")}; all`,
    seed: `of the traffic; ${SEED}`,
  },
  run: async (run) => {
    const names = run.flags.among("who", SCALER_NAMES) ?? SCALER_NAMES;
    const wanted = run.flags.texts("point");
    const pipelines = run.flags.texts("pipeline");
    const verdicts: Verdict[] = [];
    const planner = new Planner(run.folder);
    for (const [pipeline, sloMs] of PIPELINES) {
      if (pipelines !== undefined && !pipelines.includes(pipeline)) continue;
      for (const point of POINTS) {
        if (wanted !== undefined && !wanted.includes(point.name)) continue;
        const { loads } = point;
        const traffic = { cv2: 1, loads };
        const bundle = await planner.planned({ pipeline, sloMs, traffic, policy: AUTO });
        verdicts.push(tellPoint(run.page, comparedPoint(run, bundle, pipeline, point), names));
      }
    }
    tellVerdicts(run.page, verdicts);
  },
};

function comparedPoint(
  { flags }: Run,
  bundle: InferlineBundle,
  pipeline: PipelineName,
  { name, about, traffic, excerpt }: TrafficPoint,
): ComparedPoint {
  const common = { seed: flags.number("seed") ?? SEED, serviceTimes: "p95" } as const;
  const all = { ...traffic(), ...common, timeline: true };
  const part = excerpt === undefined ? null : { ...excerpt(), ...common };
  const tried = part ?? { ...traffic(), ...common };
  return {
    name: `${pipeline} ${name}`,
    about,
    unit: "$/h",
    ceiling: violationCeiling(bundle.slo),
    finalists: part === null ? 1 : DAY_FINALISTS,
    ours: [
      { who: "InferLine", serve: () => servedBy(simulateInferline(bundle, all)) },
      { who: "its highest plan, fixed", serve: () => servedBy(fixedPeak(bundle, all)) },
    ],
    shipped: (scaler) => shippedScaler(bundle, all, scaler),
    tried: (scaler, ceiling) => tunedScaler(bundle, tried, scaler, ceiling),
    serve: (scaler, planned) => servedBy(simulateScaled(bundle, all, scaler, planned)),
  };
}

function fixedPeak(
  bundle: InferlineBundle,
  options: Parameters<typeof simulateInferline>[1],
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
