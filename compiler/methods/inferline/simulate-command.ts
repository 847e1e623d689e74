/** `stratagem simulate BUNDLE` of provisioned tasks: plans and tuner on a virtual clock. */
import type { InferlineBundle } from "stratagem-runtime/internal/bundle/schema";
import type { CommandResult } from "stratagem-runtime/internal/commands/command-result";
import { short } from "stratagem-runtime/internal/describe/text";
import type { SimulateWatch } from "../../processes/simulate-watch.ts";
import { initialQpsOf } from "../../simulate/graph/arriving-requests.ts";
import {
  chosenScaler,
  type ScaledBaseline,
  scalerLine,
} from "../../simulate/graph/scalers/chosen-scaler.ts";
import { scalerNamed } from "../../simulate/graph/scalers/scalers.ts";
import { reportOutcomes } from "../../simulate/outcomes.ts";
import type { AskedBaseline, AskedRun } from "../method.ts";
import { lateRows, runReport, shortOrDash, stated, steadyLevel, tenths } from "../run-report.ts";
import { inferlineBaseline } from "./baselines.ts";
import { shippedScaler, simulateScaled, tunedScaler } from "./scaler-baselines.ts";
import { minutesOf } from "./simulate/minutes.ts";
import {
  type InferlineSimulationOptions,
  type InferlineSimulationResult,
  simulateInferline,
} from "./simulate/simulate.ts";

/** @throws RuntimeError for a baseline of another kind of bundle, or one without a plan. */
export function simulateInferlineCommand(
  bundle: InferlineBundle,
  options: AskedRun,
  baseline: AskedBaseline,
  watch: Pick<SimulateWatch, "nowMs">,
): CommandResult {
  const { onOutcome, ...steady } = options;
  const { run, scaled } = simulationOf(bundle, steady, baseline);
  const startMs = watch.nowMs();
  const ran = run({ withLatencies: onOutcome !== undefined, timeline: true });
  const { latencyMsByRequest, timeline, ...result } = ran;
  const wallMs = watch.nowMs() - startMs;
  reportOutcomes(options, latencyMsByRequest);
  const level = baseline === null ? steadyLevel(bundle.levels, options.arrivals) : null;
  const { servers, scaling, planSwitches, costPerHour } = result;
  return runReport(result, {
    wallMs,
    level,
    expected: level?.expected,
    json: { ...(scaled === null ? {} : { baseline: scaled }), minutes: minutesOf(timeline ?? []) },
    lines: [
      `replicas: mean ${tenths(servers.mean)}, at most ${servers.max}; ` +
        `${scaling.up} started, ${scaling.down} stopped, ${planSwitches} changes of plan`,
      ...(scaled === null ? [] : [scalerLine(scaled)]),
    ],
    rows: [
      ...lateRows(result, level?.expected),
      ["cost/hour", short(costPerHour), stated(level?.expected.costPerHour, short)],
    ],
    tables: [
      [
        ["task", "queries", "mean batch", "mean replicas", "most"],
        ...Object.entries(result.byTask).map(([name, { queries, meanBatch, replicas }]) => [
          name,
          String(queries),
          shortOrDash(meanBatch),
          replicas.mean.toFixed(2),
          String(replicas.max),
        ]),
      ],
    ],
  });
}

/** Options for reports in addition to the sums of a simulation. */
type Watched = Pick<InferlineSimulationOptions, "withLatencies" | "timeline">;

interface Simulation {
  readonly run: (watched: Watched) => InferlineSimulationResult;
  /** Null for the bundle itself and for baselines without settings. */
  readonly scaled: ScaledBaseline | null;
}

/** Chooses what is simulated, and how. */
function simulationOf(
  bundle: InferlineBundle,
  options: InferlineSimulationOptions,
  baseline: AskedBaseline,
): Simulation {
  if (baseline === null) {
    const run = (watched: Watched) => simulateInferline(bundle, { ...options, ...watched });
    return { run, scaled: null };
  }
  const { name, tuned } = baseline;
  const scaler = scalerNamed(name);
  if (scaler === undefined) return { run: coarseRun(bundle, options, name), scaled: null };
  const { planned, baseline: scaled } = chosenScaler(bundle, scaler, tuned, {
    shipped: () => shippedScaler(bundle, options, scaler),
    tuned: () => tunedScaler(bundle, options, scaler),
  });
  const run = (watched: Watched) => {
    return simulateScaled(bundle, { ...options, ...watched }, scaler, planned);
  };
  return { run, scaled };
}

function coarseRun(
  bundle: InferlineBundle,
  options: InferlineSimulationOptions,
  name: string,
): Simulation["run"] {
  const { bundle: planned, tunerFor } = inferlineBaseline(bundle, name);
  const tuner = tunerFor(initialQpsOf(options.arrivals));
  const own = tuner === null ? options : { ...options, tuner };
  return (watched) => simulateInferline(planned, { ...own, ...watched });
}
