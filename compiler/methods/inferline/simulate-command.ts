/** `stratagem simulate BUNDLE` of provisioned tasks: plans and tuner on a virtual clock. */
import type { InferlineBundle, InferlineLevel } from "stratagem-runtime/internal/bundle/schema";
import type { CommandResult } from "stratagem-runtime/internal/commands/command-result";
import { assert } from "stratagem-runtime/internal/core/assert";
import { levelForLoad } from "stratagem-runtime/internal/core/level-choice";
import { EXIT_CODES } from "stratagem-runtime/internal/errors";
import { alignColumns, percent, short } from "stratagem-runtime/internal/tell/text";
import type { SimulateWatch } from "../../processes/simulate-watch.ts";
import type { ArrivalProcess } from "../../simulate/arrivals.ts";
import { initialQpsOf } from "../../simulate/graph/arriving-requests.ts";
import { scalerNamed } from "../../simulate/graph/scalers/scalers.ts";
import {
  type ScaledBaseline,
  scalerLine,
  toldScaler,
} from "../../simulate/graph/scalers/told-scaler.ts";
import { type OnOutcome, tellOutcomes } from "../../simulate/outcomes.ts";
import { inferlineBaseline } from "./baselines.ts";
import { shippedScaler, simulateScaled, tunedScaler } from "./scaler-baselines.ts";
import { minutesOf } from "./simulate/minutes.ts";
import {
  type InferlineSimulationOptions,
  type InferlineSimulationResult,
  simulateInferline,
} from "./simulate/simulate.ts";

export interface InferlineCommandOptions
  extends Pick<
    InferlineSimulationOptions,
    "durationMs" | "seed" | "serviceTimes" | "fanout" | "scalerDelay"
  > {
  readonly arrivals: ArrivalProcess;
  /** Told of every request. */
  readonly onOutcome?: OnOutcome;
}

/** By name as shipped, or as the command line has it; null for the bundle itself. */
type AskedBaseline = string | { readonly kind: string; readonly tuned?: boolean } | null;

/** @throws RuntimeError for a baseline of another kind of bundle, or that has no plan. */
export function simulateInferlineCommand(
  bundle: InferlineBundle,
  options: InferlineCommandOptions,
  baseline: AskedBaseline,
  watch: Pick<SimulateWatch, "nowMs">,
): CommandResult {
  const { onOutcome, ...steady } = options;
  const { run, told } = simulationOf(bundle, steady, baseline);
  const startMs = watch.nowMs();
  const ran = run({ withLatencies: onOutcome !== undefined, timeline: true });
  const { latencyMsByRequest, timeline, ...result } = ran;
  const wallMs = watch.nowMs() - startMs;
  if (onOutcome !== undefined && latencyMsByRequest !== null) {
    tellOutcomes(onOutcome, options, latencyMsByRequest);
  }
  const served = Object.values(result.byTask).reduce((sum, { queries }) => sum + queries, 0);
  const taskQueriesPerWallSecond = Math.round((1000 * served) / wallMs);
  const level = baseline === null ? levelFor(bundle, options) : null;
  return {
    exitCode: EXIT_CODES.ok,
    text: render(result, level, taskQueriesPerWallSecond, told),
    json: {
      ...result,
      ...(told === null ? {} : { baseline: told }),
      minutes: minutesOf(timeline ?? []),
      wallMs,
      queriesPerWallSecond: Math.round((1000 * result.queries) / wallMs),
      taskQueriesPerWallSecond,
      ...(level === null ? {} : { expected: level.expected }),
    },
  };
}

/** What is told of a simulation beside its sums. */
type Watched = Pick<InferlineSimulationOptions, "withLatencies" | "timeline">;

interface Simulation {
  readonly run: (watched: Watched) => InferlineSimulationResult;
  /** Null for the bundle itself and for baselines that have nothing to set. */
  readonly told: ScaledBaseline | null;
}

/** What is simulated, and how. */
function simulationOf(
  bundle: InferlineBundle,
  options: InferlineSimulationOptions,
  baseline: AskedBaseline,
): Simulation {
  if (baseline === null) {
    const run = (watched: Watched) => simulateInferline(bundle, { ...options, ...watched });
    return { run, told: null };
  }
  const { kind: name, tuned = false } =
    typeof baseline === "string" ? { kind: baseline } : baseline;
  const scaler = scalerNamed(name);
  if (scaler === undefined) return { run: coarseRun(bundle, options, name), told: null };
  const chosen = tuned
    ? tunedScaler(bundle, options, scaler)[0]
    : shippedScaler(bundle, options, scaler);
  assert(chosen !== undefined, "a setting is tried");
  const planQps = bundle.levels[chosen.plan]?.loadQps ?? Number.NaN;
  return {
    run: (watched) => simulateScaled(bundle, { ...options, ...watched }, scaler, chosen),
    told: toldScaler(scaler, tuned, chosen.setting, planQps),
  };
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

/** The level whose expectation a steady load is to be compared with; a trace has none. */
function levelFor(
  { levels }: InferlineBundle,
  { arrivals }: Pick<InferlineCommandOptions, "arrivals">,
): InferlineLevel | null {
  if (arrivals.kind === "trace") return null;
  return levels[levelForLoad(levels, arrivals.qps)] ?? null;
}

function render(
  result: Omit<InferlineSimulationResult, "latencyMsByRequest" | "timeline">,
  level: InferlineLevel | null,
  perSecond: number,
  told: ScaledBaseline | null,
): string {
  const { latencyMs, servers, scaling } = result;
  const expected = level?.expected;
  const row = (label: string, simulated: string, stated: string | undefined): string[] => [
    label,
    simulated,
    ...(stated === undefined ? [] : [stated]),
  ];
  return [
    `${result.queries} requests in ${result.durationMs / 1000} s, ` +
      `seed ${result.seed}: ${result.late} late, ${result.dropped} dropped; ` +
      `${perSecond} task queries per wall second`,
    latencyMs === null
      ? "no request was served"
      : `latency ms: mean ${ms(latencyMs.mean)}, p50 ${ms(latencyMs.p50)}, ` +
        `p95 ${ms(latencyMs.p95)}, p99 ${ms(latencyMs.p99)}, max ${ms(latencyMs.max)}`,
    `replicas: mean ${servers.mean.toFixed(1)}, at most ${servers.max}; ` +
      `${scaling.up} started, ${scaling.down} stopped, ${result.planSwitches} changes of plan`,
    ...(told === null ? [] : [scalerLine(told)]),
    "",
    alignColumns([
      ["", "simulated", ...(level === null ? [] : [`expected at ${level.loadQps} qps`])],
      row("violations", percent(result.violationRate), expected && percent(expected.violationRate)),
      row("latency ms p50", msOrDash(latencyMs?.p50), expected && ms(expected.latencyMsP50)),
      row("latency ms p99", msOrDash(latencyMs?.p99), expected && ms(expected.latencyMsP99)),
      row("cost/hour", short(result.costPerHour), expected && short(expected.costPerHour)),
    ]),
    "",
    alignColumns([
      ["task", "queries", "mean batch", "mean replicas", "most"],
      ...Object.entries(result.byTask).map(([name, task]) => [
        name,
        String(task.queries),
        task.meanBatch === null ? "-" : short(task.meanBatch),
        task.replicas.mean.toFixed(2),
        String(task.replicas.max),
      ]),
    ]),
  ].join("\n");
}

function ms(value: number): string {
  return value.toFixed(1);
}

function msOrDash(value: number | undefined): string {
  return value === undefined ? "-" : ms(value);
}
