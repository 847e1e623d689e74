/** `stratagem simulate BUNDLE` of scaled tasks: plans, cores and instances on a virtual clock. */
import type { ScalePlan, ThemisBundle } from "stratagem-runtime/internal/bundle/schema";
import type { CommandResult } from "stratagem-runtime/internal/commands/command-result";
import { short } from "stratagem-runtime/internal/describe/text";
import type { SimulateWatch } from "../../processes/simulate-watch.ts";
import {
  chosenScaler,
  type ScaledBaseline,
  scalerLine,
} from "../../simulate/graph/scalers/chosen-scaler.ts";
import { scalerNamed } from "../../simulate/graph/scalers/scalers.ts";
import { reportOutcomes } from "../../simulate/outcomes.ts";
import type { AskedBaseline, AskedRun } from "../method.ts";
import {
  type ComparedRow,
  lateRows,
  runReport,
  shortOrDash,
  stated,
  steadyLevel,
  tenths,
} from "../run-report.ts";
import { themisBaseline } from "./baselines.ts";
import { pollForecasts } from "./poll-forecasts.ts";
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

/**
 * @throws RuntimeError for a baseline of another kind of bundle, InputError for sampled service
 * times if the bundle has no quantiles.
 */
export async function simulateThemisCommand(
  bundle: ThemisBundle,
  options: AskedRun,
  baseline: AskedBaseline,
  watch: Pick<SimulateWatch, "nowMs">,
): Promise<CommandResult> {
  const { onOutcome, ...steady } = options;
  const { run, scaled } = await simulationOf(bundle, steady, baseline);
  const startMs = watch.nowMs();
  const { latencyMsByRequest, ...result } = run(onOutcome !== undefined);
  const wallMs = watch.nowMs() - startMs;
  reportOutcomes(options, latencyMsByRequest);
  const level = baseline === null ? steadyLevel(bundle.levels, options.arrivals) : null;
  const { servers, cores, scaling } = result;
  return runReport(result, {
    wallMs,
    level,
    expected: level?.steady.expected,
    json: scaled === null ? {} : { baseline: scaled },
    lines: [
      `cores: mean ${tenths(cores.mean)}, at most ${cores.max}, ` +
        `${short(result.coreSeconds)} core-seconds; instances: ` +
        `mean ${tenths(servers.mean)}, at most ${servers.max}`,
      `${scaling.up} started, ${scaling.down} stopped, ${scaling.resizes} resized; ` +
        `${scaling.bursts} bursts met, ${scaling.settled} plans settled on, ` +
        `${result.planSwitches} changes of level`,
      ...(scaled === null ? [] : [scalerLine(scaled)]),
    ],
    rows: comparison(result, level?.steady),
    tables: [
      [
        ["task", "queries", "mean batch", "mean instances", "most", "mean cores", "most"],
        ...Object.entries(result.byTask).map(([name, task]) => [
          name,
          String(task.queries),
          shortOrDash(task.meanBatch),
          task.instances.mean.toFixed(2),
          String(task.instances.max),
          task.cores.mean.toFixed(2),
          String(task.cores.max),
        ]),
      ],
    ],
  });
}

interface Simulation {
  readonly run: (withLatencies: boolean) => ThemisSimulationResult;
  /** Null for the bundle itself and for baselines without settings. */
  readonly scaled: ScaledBaseline | null;
}

/** Chooses what is simulated, and how. */
async function simulationOf(
  bundle: ThemisBundle,
  options: ThemisSimulationOptions,
  baseline: AskedBaseline,
): Promise<Simulation> {
  if (baseline === null) return { run: await planRun(bundle, options), scaled: null };
  const { name, tuned } = baseline;
  const scaler = scalerNamed(name);
  // Baselines decide as if the machine were as profiled.
  const asShipped = { ...options, adapts: false };
  if (scaler === undefined) {
    return { run: await planRun(themisBaseline(bundle, name), asShipped), scaled: null };
  }
  const { planned, baseline: scaled } = chosenScaler(bundle, scaler, tuned, {
    shipped: () => shippedInstanceScaler(bundle, asShipped, scaler),
    tuned: () => tunedInstanceScaler(bundle, asShipped, scaler),
  });
  const run = (withLatencies: boolean) =>
    simulateScaledInstances(bundle, { ...asShipped, withLatencies }, scaler, planned);
  return { run, scaled };
}

async function planRun(
  bundle: ThemisBundle,
  options: ThemisSimulationOptions,
): Promise<Simulation["run"]> {
  const forecastByPoll = await pollForecasts(bundle, options);
  const own = { ...options, ...(forecastByPoll === undefined ? {} : { forecastByPoll }) };
  return (withLatencies) => simulateThemis(bundle, { ...own, withLatencies });
}

function comparison(
  result: Omit<ThemisSimulationResult, "latencyMsByRequest">,
  plan: ScalePlan | undefined,
): ComparedRow[] {
  const { cores, costPerHour } = result;
  const rows: ComparedRow[] = [
    ...lateRows(result, plan?.expected),
    ["cores", short(cores.mean), stated(plan?.cores, String)],
  ];
  if (costPerHour === undefined) return rows;
  // The plan's cores cost in proportion to the held cores.
  const planned = stated(plan?.cores, (held) => short((costPerHour * held) / cores.mean));
  return [...rows, ["cost/hour", short(costPerHour), planned]];
}
