/**
 * The authors' pipelines with their fitted latencies, compiled as users would; and the traffic.
 *
 * What differs from the paper: everything runs on the simulator; requests arrive by a Poisson
 * process within each second of the slice, divided for each pipeline as in the authors' code; plans
 * are exact where theirs are by dynamic programming.
 */
import { join } from "node:path";
import { pollHistories } from "stratagem/internal/methods/themis/simulate/poll-histories";
import {
  simulateThemis,
  type ThemisSimulationResult,
} from "stratagem/internal/methods/themis/simulate/simulate";
import { drawArrivals } from "stratagem/internal/simulate/graph/drawn-requests";
import type { ThemisBundle, ThemisOptions } from "stratagem-runtime/internal/bundle/schema";
import { beatMsOf } from "stratagem-runtime/internal/core/beat";
import { openOnnxForecaster } from "stratagem-runtime/internal/exec/onnx/onnx-forecaster";
import { compiled } from "../harness/cli.ts";
import { range } from "../harness/numbers.ts";
import { readReference, writeReferenceApp } from "../harness/reference.ts";
import { seedsTo } from "../harness/seeds.ts";

export const LSTM = "runtime/models/lstm.onnx";
export const SEEDS = seedsTo(5);

export type PipelineName = "video" | "sentiment" | "nlp";

interface Setup {
  readonly title: string;
  /** Of the levels. */
  readonly loads: readonly number[];
  /** Time a new instance takes to come up. */
  readonly coldStart: string;
}

export const SETUPS: Readonly<Record<PipelineName, Setup>> = {
  video: { title: "video monitoring, 780 ms", loads: range(1, 150, 1), coldStart: "5 s" },
  sentiment: { title: "audio sentiment, 1350 ms", loads: range(0.5, 75, 0.5), coldStart: "5 s" },
  nlp: { title: "language processing, 2550 ms", loads: range(0.25, 37.5, 0.25), coldStart: "10 s" },
};
export const PIPELINES = Object.keys(SETUPS) as readonly PipelineName[];

interface Inputs {
  readonly pipelines: Readonly<Record<PipelineName, { readonly sloMs: number }>>;
  readonly traces: {
    readonly twitterSlice570: {
      readonly rps: readonly number[];
      readonly lstmPrediction: readonly number[];
    };
    readonly evalSlice: { readonly dividersPaperEra: Readonly<Record<PipelineName, number>> };
  };
}

export function themisInputs(): Inputs {
  return readReference<Inputs>("themis/inputs.json");
}

export async function compiledPipeline(
  folder: string,
  pipeline: PipelineName,
  { loads = SETUPS[pipeline].loads, ...policy }: { loads?: readonly number[] } & object = {},
): Promise<ThemisBundle> {
  const { coldStart } = SETUPS[pipeline];
  const app = writeReferenceApp("themis", join(folder, pipeline), [
    ...["--pipeline", pipeline, "--loads", loads.join(",")],
    ...["--policy", JSON.stringify({ coldStart, ...policy })],
  ]);
  const { bundle } = await compiled("themis", app);
  return bundle;
}

export function withPolicy(bundle: ThemisBundle, options: Partial<ThemisOptions>): ThemisBundle {
  return { ...bundle, policy: { ...bundle.policy, ...options } };
}

/** What becomes of a pipeline's share of raw counts per second. */
export async function simulated(
  bundle: ThemisBundle,
  divider: number,
  counts: readonly number[],
  seed: number,
): Promise<ThemisSimulationResult> {
  const durationMs = 1000 * counts.length;
  const qps = Float64Array.from(counts, (count) => count / divider);
  const startMs = Float64Array.from(qps, (_, second) => 1000 * second);
  const trace = { kind: "rates", startMs, qps, endMs: durationMs } as const;
  const arrivalMs = drawArrivals({ kind: "trace", trace }, durationMs, seed);
  const isLstm = bundle.policy.predictor === "lstm";
  const forecasts = isLstm ? { forecastByPoll: await foretold(bundle, arrivalMs, durationMs) } : {};
  const takenByEdge = bundle.tasks.map(() => null);
  return simulateThemis(bundle, {
    arrivals: { kind: "requests", trace: { arrivalMs, takenByEdge } },
    durationMs,
    seed,
    startLevel: 0,
    ...forecasts,
  });
}

async function foretold(
  { policy, slo }: ThemisBundle,
  arrivalMs: Float64Array,
  durationMs: number,
): Promise<Float64Array> {
  const forecaster = await openOnnxForecaster(LSTM);
  try {
    const beatMs = beatMsOf(slo);
    const times = { tickMs: policy.tickMs, beatMs };
    const { perBeat } = pollHistories(arrivalMs, times, durationMs);
    return (await forecaster.forecastAll(perBeat)).map((count) => (1000 * count) / beatMs);
  } finally {
    await forecaster.close();
  }
}
