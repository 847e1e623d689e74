/** `stratagem simulate BUNDLE` of provisioned tasks: plans and tuner on a virtual clock. */
import type { InferlineBundle, InferlineLevel } from "stratagem-runtime/internal/bundle/schema";
import type { CommandResult } from "stratagem-runtime/internal/commands/command-result";
import { levelForLoad } from "stratagem-runtime/internal/core/level-choice";
import { EXIT_CODES } from "stratagem-runtime/internal/errors";
import { alignColumns, percent, short } from "stratagem-runtime/internal/tell/text";
import type { SimulateWatch } from "../../processes/simulate-watch.ts";
import type { ArrivalProcess } from "../../simulate/arrivals.ts";
import { initialQpsOf } from "../../simulate/graph/arriving-requests.ts";
import { type OnOutcome, tellOutcomes } from "../../simulate/outcomes.ts";
import { inferlineBaseline } from "./baselines.ts";
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

/**
 * @param baseline null for the bundle itself.
 * @throws RuntimeError for a baseline of another kind of bundle, or that has no plan.
 */
export function simulateInferlineCommand(
  bundle: InferlineBundle,
  options: InferlineCommandOptions,
  baseline: string | { readonly kind: string } | null,
  watch: Pick<SimulateWatch, "nowMs">,
): CommandResult {
  const { onOutcome, ...steady } = options;
  const [simulated, simulation] =
    baseline === null ? [bundle, steady] : compared(bundle, steady, baseline);
  const startMs = watch.nowMs();
  const withLatencies = onOutcome !== undefined;
  const ran = simulateInferline(simulated, { ...simulation, withLatencies, timeline: true });
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
    text: render(result, level, taskQueriesPerWallSecond),
    json: {
      ...result,
      minutes: minutesOf(timeline ?? []),
      wallMs,
      queriesPerWallSecond: Math.round((1000 * result.queries) / wallMs),
      taskQueriesPerWallSecond,
      ...(level === null ? {} : { expected: level.expected }),
    },
  };
}

/** What is simulated in place of the bundle, and how. */
function compared(
  bundle: InferlineBundle,
  options: InferlineCommandOptions,
  baseline: string | { readonly kind: string },
): readonly [InferlineBundle, InferlineSimulationOptions] {
  const name = typeof baseline === "string" ? baseline : baseline.kind;
  const { bundle: planned, tunerFor } = inferlineBaseline(bundle, name);
  const tuner = tunerFor(initialQpsOf(options.arrivals));
  return [planned, tuner === null ? options : { ...options, tuner }];
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
