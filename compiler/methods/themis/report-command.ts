/** `stratagem report BUNDLE` of scaled tasks: its levels, and days under every scaler. */
import { basename } from "node:path";
import type { ThemisBundle } from "stratagem-runtime/internal/bundle/schema";
import { readTrace, spreadTexts, type Trace } from "../../spec/trace.ts";
import type { Report, ReportRequest } from "../method.ts";
import { PAPER_BASELINES, themisBaseline } from "./baselines.ts";
import { pollForecasts } from "./poll-forecasts.ts";
import type { ScaledDay, ScaledRun } from "./report/days.ts";
import { renderThemisReport } from "./report/report.ts";
import { simulateThemis } from "./simulate/simulate.ts";

const SEED = 1;

/** @throws InputError for a trace. */
export async function reportThemis(
  bundle: ThemisBundle,
  { file, traces = [], progress }: ReportRequest,
): Promise<Report> {
  const days = traces.map((path) => ({ path, trace: readTrace(path) }));
  const onRun = progress(days.length * (1 + PAPER_BASELINES.length));
  const simulated: ScaledDay[] = [];
  for (const { path, trace } of days) {
    const runs: ScaledRun[] = [];
    for (const scaler of [null, ...PAPER_BASELINES]) {
      runs.push(await scaledRun(bundle, scaler, trace));
      await onRun();
    }
    const name = basename(path);
    simulated.push({ name, notes: spreadTexts({ file: name, trace }), runs });
  }
  const page = renderThemisReport({ bundle, file, days: simulated });
  return {
    page,
    runs: simulated.flatMap(({ name, notes, runs }) => {
      const noted = notes.length === 0 ? {} : { notes };
      return runs.map((run) => ({ ...runFigures(name, run), ...noted }));
    }),
  };
}

/** @param baseline null for the bundle itself. */
async function scaledRun(
  bundle: ThemisBundle,
  baseline: (typeof PAPER_BASELINES)[number] | null,
  trace: Trace,
): Promise<ScaledRun> {
  const scaled = baseline === null ? bundle : themisBaseline(bundle, baseline);
  const arrivals = { kind: "trace", trace } as const;
  const options = { arrivals, durationMs: durationMsOf(trace), seed: SEED };
  const forecastByPoll = await pollForecasts(scaled, options);
  const forecast = forecastByPoll === undefined ? {} : { forecastByPoll };
  const result = simulateThemis(scaled, { ...options, ...forecast, timeline: true });
  const plannedCores = scaled.levels.map(({ steady }) => steady.cores);
  return { scaler: baseline ?? "the bundle", plannedCores, result };
}

/** Duration of the whole trace. */
function durationMsOf(trace: Trace): number {
  return trace.kind === "rates" ? trace.endMs : (trace.arrivalMs.at(-1) ?? 0) + 1;
}

function runFigures(day: string, { scaler, result }: ScaledRun): object {
  const { timeline: _, latencyMsByRequest: __, ...outcome } = result;
  return { day, scaler, ...outcome };
}
