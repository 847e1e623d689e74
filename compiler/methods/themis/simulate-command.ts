/** `stratagem simulate BUNDLE` of scaled tasks: plans, cores and instances on a virtual clock. */
import type {
  ScalePlan,
  ThemisBundle,
  ThemisLevel,
} from "stratagem-runtime/internal/bundle/schema";
import type { CommandResult } from "stratagem-runtime/internal/commands/command-result";
import { assert } from "stratagem-runtime/internal/core/assert";
import { levelForLoad } from "stratagem-runtime/internal/core/level-choice";
import { EXIT_CODES } from "stratagem-runtime/internal/errors";
import { alignColumns, percent, short } from "stratagem-runtime/internal/tell/text";
import type { SimulateWatch } from "../../processes/simulate-watch.ts";
import type { ArrivalProcess } from "../../simulate/arrivals.ts";
import { scalerNamed } from "../../simulate/graph/scalers/scalers.ts";
import {
  type ScaledBaseline,
  scalerLine,
  toldScaler,
} from "../../simulate/graph/scalers/told-scaler.ts";
import { type OnOutcome, tellOutcomes } from "../../simulate/outcomes.ts";
import { themisBaseline } from "./baselines.ts";
import { foretoldLooks } from "./foretold-looks.ts";
import {
  shippedInstanceScaler,
  simulateScaledInstances,
  tunedInstanceScaler,
} from "./scaler-baselines.ts";
import {
  simulateThemis,
  type ThemisSimulationOptions,
  type ThemisSimulationResult,
} from "./simulate/simulate.ts";

export interface ThemisCommandOptions
  extends Pick<
    ThemisSimulationOptions,
    "durationMs" | "seed" | "fanout" | "serviceTimes" | "stations" | "adapts" | "scalerDelay"
  > {
  readonly arrivals: ArrivalProcess;
  /** Told of every request. */
  readonly onOutcome?: OnOutcome;
}

/** By name as shipped, or as the command line has it; null for the bundle itself. */
type AskedBaseline = string | { readonly kind: string; readonly tuned?: boolean } | null;

/**
 * @throws RuntimeError for a baseline of another kind of bundle, InputError for service times that
 * are to be drawn from quantiles that there are not.
 */
export async function simulateThemisCommand(
  bundle: ThemisBundle,
  options: ThemisCommandOptions,
  baseline: AskedBaseline,
  watch: Pick<SimulateWatch, "nowMs">,
): Promise<CommandResult> {
  const { onOutcome, ...steady } = options;
  const { run, told } = await simulationOf(bundle, steady, baseline);
  const startMs = watch.nowMs();
  const ran = run(onOutcome !== undefined);
  const { latencyMsByRequest, ...result } = ran;
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
      wallMs,
      queriesPerWallSecond: Math.round((1000 * result.queries) / wallMs),
      taskQueriesPerWallSecond,
      ...(level === null ? {} : { expected: level.steady.expected }),
    },
  };
}

interface Simulation {
  readonly run: (withLatencies: boolean) => ThemisSimulationResult;
  /** Null for the bundle itself and for baselines that have nothing to set. */
  readonly told: ScaledBaseline | null;
}

/** What is simulated, and how. */
async function simulationOf(
  bundle: ThemisBundle,
  options: ThemisSimulationOptions,
  baseline: AskedBaseline,
): Promise<Simulation> {
  if (baseline === null) return { run: await planRun(bundle, options), told: null };
  const { kind: name, tuned = false } =
    typeof baseline === "string" ? { kind: baseline } : baseline;
  const scaler = scalerNamed(name);
  // Baselines decide as if the machine were as profiled.
  const asShipped = { ...options, adapts: false };
  if (scaler === undefined) {
    return { run: await planRun(themisBaseline(bundle, name), asShipped), told: null };
  }
  const chosen = tuned
    ? tunedInstanceScaler(bundle, asShipped, scaler)[0]
    : shippedInstanceScaler(bundle, asShipped, scaler);
  assert(chosen !== undefined, "a setting is tried");
  const planQps = bundle.levels[chosen.plan]?.loadQps ?? Number.NaN;
  return {
    run: (withLatencies) =>
      simulateScaledInstances(bundle, { ...asShipped, withLatencies }, scaler, chosen),
    told: toldScaler(scaler, tuned, chosen.setting, planQps),
  };
}

async function planRun(
  bundle: ThemisBundle,
  options: ThemisSimulationOptions,
): Promise<Simulation["run"]> {
  const forecastByLook = await foretoldLooks(bundle, options);
  const own = { ...options, ...(forecastByLook === undefined ? {} : { forecastByLook }) };
  return (withLatencies) => simulateThemis(bundle, { ...own, withLatencies });
}

/** The level whose expectation a steady load is to be compared with; a trace has none. */
function levelFor(
  { levels }: ThemisBundle,
  { arrivals }: Pick<ThemisCommandOptions, "arrivals">,
): ThemisLevel | null {
  if (arrivals.kind === "trace") return null;
  return levels[levelForLoad(levels, arrivals.qps)] ?? null;
}

type Shown = Omit<ThemisSimulationResult, "latencyMsByRequest">;

function render(
  result: Shown,
  level: ThemisLevel | null,
  perSecond: number,
  told: ScaledBaseline | null,
): string {
  const { latencyMs, servers, cores, scaling } = result;
  return [
    `${result.queries} requests in ${result.durationMs / 1000} s, ` +
      `seed ${result.seed}: ${result.late} late, ${result.dropped} dropped; ` +
      `${perSecond} task queries per wall second`,
    latencyMs === null
      ? "no request was served"
      : `latency ms: mean ${ms(latencyMs.mean)}, p50 ${ms(latencyMs.p50)}, ` +
        `p95 ${ms(latencyMs.p95)}, p99 ${ms(latencyMs.p99)}, max ${ms(latencyMs.max)}`,
    `cores: mean ${cores.mean.toFixed(1)}, at most ${cores.max}, ` +
      `${short(result.coreSeconds)} core-seconds; instances: ` +
      `mean ${servers.mean.toFixed(1)}, at most ${servers.max}`,
    `${scaling.up} started, ${scaling.down} stopped, ${scaling.resizes} resized; ` +
      `${scaling.bursts} bursts met, ${scaling.settled} plans settled on, ` +
      `${result.planSwitches} changes of level`,
    ...(told === null ? [] : [scalerLine(told)]),
    "",
    alignColumns(comparison(result, level)),
    "",
    alignColumns([
      ["task", "queries", "mean batch", "mean instances", "most", "mean cores", "most"],
      ...Object.entries(result.byTask).map(([name, task]) => [
        name,
        String(task.queries),
        task.meanBatch === null ? "-" : short(task.meanBatch),
        task.instances.mean.toFixed(2),
        String(task.instances.max),
        task.cores.mean.toFixed(2),
        String(task.cores.max),
      ]),
    ]),
  ].join("\n");
}

function comparison(
  { violationRate, latencyMs, cores, costPerHour }: Shown,
  level: ThemisLevel | null,
): string[][] {
  const plan: ScalePlan | undefined = level?.steady;
  const row = (label: string, simulated: string, stated: string | undefined): string[] => [
    label,
    simulated,
    ...(stated === undefined ? [] : [stated]),
  ];
  const expected = plan?.expected;
  // The plan's cores cost the same part of what the held cores cost.
  const planned = plan && costPerHour && short((costPerHour * plan.cores) / cores.mean);
  const cost =
    costPerHour === undefined ? [] : [row("cost/hour", short(costPerHour), planned || undefined)];
  return [
    ["", "simulated", ...(level === null ? [] : [`expected at ${level.loadQps} qps`])],
    row("violations", percent(violationRate), expected && percent(expected.violationRate)),
    row("latency ms p50", msOrDash(latencyMs?.p50), expected && ms(expected.latencyMsP50)),
    row("latency ms p99", msOrDash(latencyMs?.p99), expected && ms(expected.latencyMsP99)),
    row("cores", short(cores.mean), plan && String(plan.cores)),
    ...cost,
  ];
}

function ms(value: number): string {
  return value.toFixed(1);
}

function msOrDash(value: number | undefined): string {
  return value === undefined ? "-" : ms(value);
}
