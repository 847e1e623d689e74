/** The experiment of a method beside autoscalers: points of traffic, one after the other. */
import { SCALER_NAMES } from "stratagem/internal/simulate/graph/scalers/scalers";
import { type Slo, violationCeiling } from "stratagem-runtime/internal/bundle/schema";
import type { Experiment, Run } from "../harness/experiment.ts";
import { type ComparedPoint, tellPoint, tellVerdicts, type Verdict } from "./compared-point.ts";
import { hoursOf, type RatedTraffic, twitterDay } from "./rates.ts";

/** Of the traffic; no other experiment and no test has it. */
const SEED = 90_210;
/** Part of a day that is served, and part of it that settings are tried on before that. */
const DAY_H = [6, 18] as const;
const EXCERPT_H = [11, 12] as const;
const DAY_FINALISTS = 2;

export interface TrafficPoint {
  readonly name: string;
  readonly about: string;
  readonly traffic: () => RatedTraffic;
  /** What settings are tried on; left out, all of it. */
  readonly excerpt?: () => RatedTraffic;
}

export type SeededTraffic = RatedTraffic & { readonly seed: number };

/** Who may serve the requests of some traffic, ours and others. */
export type Servers = Pick<ComparedPoint, "ours" | "shipped" | "tried" | "serve">;

/** What a method compares. */
export interface ScalersOf<B extends { readonly slo: Slo }, P extends TrafficPoint> {
  readonly unit: string;
  readonly pipelines: readonly string[];
  /** The same names for every pipeline. */
  pointsOf(pipeline: string): readonly P[];
  /** Bundles of a run, whose files are in a folder. */
  plansIn(folder: string): (pipeline: string, point: P) => Promise<B>;
  serversOf(bundle: B, traffic: SeededTraffic): Servers;
}

/** Parts of two recorded days that nothing was chosen with. */
export function dayPoints(meanQps: number): TrafficPoint[] {
  return [13, 14].map((day) => ({
    name: `day-${day}`,
    about: `day ${day} of the recording from 6 to 18, ${meanQps.toFixed(1)} requests/s in the mean`,
    traffic: () => hoursOf(twitterDay(day, meanQps), ...DAY_H),
    excerpt: () => hoursOf(twitterDay(day, meanQps), ...EXCERPT_H),
  }));
}

export function scalersExperiment<B extends { readonly slo: Slo }, P extends TrafficPoint>(
  of: ScalersOf<B, P>,
): Experiment {
  const { pipelines, pointsOf } = of;
  const options = {
    point: "of those that a run without it prints; all",
    pipeline: `of ${pipelines.join(", ")}; all`,
    who: `of ${SCALER_NAMES.join(", ")}; all`,
    seed: `of the traffic; ${SEED}`,
  };
  return {
    name: "scalers",
    about: "beside KPA, HPA, KEDA, Ray Serve, Dynamo and INFaaS, as shipped and tuned in hindsight",
    takes: "an hour",
    isExtra: true,
    options,
    run: async (run) => {
      const names = run.flags.among("who", SCALER_NAMES) ?? SCALER_NAMES;
      const wanted = run.flags.texts("point");
      const verdicts: Verdict[] = [];
      const bundleOf = of.plansIn(run.folder);
      for (const pipeline of run.flags.among("pipeline", pipelines) ?? pipelines) {
        for (const point of pointsOf(pipeline)) {
          if (wanted !== undefined && !wanted.includes(point.name)) continue;
          const bundle = await bundleOf(pipeline, point);
          const compared = comparedPoint(of, bundle, pipeline, point, run);
          verdicts.push(tellPoint(run.page, compared, names));
        }
      }
      tellVerdicts(run.page, verdicts);
    },
  };
}

function comparedPoint<B extends { readonly slo: Slo }, P extends TrafficPoint>(
  { unit, serversOf }: ScalersOf<B, P>,
  bundle: B,
  pipeline: string,
  { name, about, traffic, excerpt }: P,
  { flags }: Run,
): ComparedPoint {
  const seed = flags.number("seed") ?? SEED;
  const all = serversOf(bundle, { ...traffic(), seed });
  const part = excerpt === undefined ? null : serversOf(bundle, { ...excerpt(), seed });
  return {
    ...all,
    name: `${pipeline} ${name}`,
    about,
    unit,
    ceiling: violationCeiling(bundle.slo),
    finalists: part === null ? 1 : DAY_FINALISTS,
    tried: (part ?? all).tried,
  };
}
