/** `stratagem simulate BUNDLE`: the bundle's decisions on a virtual clock. */
import type { RamsisBundle, RamsisLevel } from "../../runtime/bundle/schema.ts";
import type { CommandResult } from "../../runtime/commands/command-result.ts";
import { EXIT_CODES, RuntimeError } from "../../runtime/errors.ts";
import { loadBundle } from "../../runtime/load-bundle.ts";
import {
  alignColumns,
  countedViolations,
  percent,
  promisedViolations,
} from "../../runtime/tell/text.ts";
import type { PipelineBaseline } from "../levels/level-worker.ts";
import type { SimulateWatch } from "../levels/simulate-watch.ts";
import { PLACE_BASELINES, type PlaceBaselineName } from "../methods/accordion/place-baselines.ts";
import { simulatePlacesCommand } from "../methods/accordion/simulate-places.ts";
import { simulateStagesCommand } from "../methods/inferline/simulate-stages.ts";
import { STAGE_BASELINES, type StageBaselineName } from "../methods/inferline/stage-baselines.ts";
import { PIPELINE_BASELINES, simulatePipelineCommand } from "../methods/loki/simulate-pipeline.ts";
import {
  type SimulationOptions,
  type SimulationResult,
  simulate,
} from "../methods/ramsis/simulate/simulate.ts";
import {
  baselineLine,
  SINGLE_BASELINES,
  singleBaselineNamed,
} from "../methods/ramsis/single-baselines.ts";
import { SCALE_BASELINES, type ScaleBaselineName } from "../methods/themis/scale-baselines.ts";
import { simulateScalesCommand } from "../methods/themis/simulate-scales.ts";
import type { ArrivalProcess } from "../simulate/arrivals.ts";
import type { ServiceTimeMode } from "../simulate/service-times.ts";
import {
  type ArrivalArguments,
  parseArrivals,
  parseDurationMs,
  parseSeed,
} from "./load-arguments.ts";

/** As given on the command line. */
export interface SimulateOptions extends ArrivalArguments {
  readonly bundle: string;
  readonly duration?: string;
  readonly seed: string;
  readonly serviceTimes: ServiceTimeMode;
  readonly baseline?: string;
  /** Of a baseline of one task: with the parameters that hindsight gives it. */
  readonly tuned?: boolean;
  readonly fanout: "rounded" | "poisson";
}

/** @throws RuntimeError for an option, InputError for a trace, BundleError for a bundle that is no good. */
export async function simulateCommand(
  options: SimulateOptions,
  watch: SimulateWatch,
): Promise<CommandResult> {
  const arrivals = parseArrivals(options);
  const steady = {
    arrivals,
    durationMs: parseDurationMs(options.duration, arrivals),
    seed: parseSeed(options.seed),
    serviceTimes: options.serviceTimes,
  };
  const { tuned = false } = options;
  const baseline = parseBaseline(options.baseline, tuned);
  const { bundle } = await loadBundle(options.bundle);
  if (tuned && bundle.method !== "ramsis") throw notTunable(bundle.method);
  if (bundle.method === "loki") {
    const pipeline = { ...steady, fanout: options.fanout };
    return simulatePipelineCommand(bundle, pipeline, pipelineBaseline(baseline), watch);
  }
  if (bundle.method === "inferline") {
    return simulateStagesCommand(bundle, steady, baseline, watch);
  }
  if (bundle.method === "themis") {
    return simulateScalesCommand(bundle, steady, baseline, watch);
  }
  if (bundle.method === "accordion") {
    return simulatePlacesCommand(bundle, steady, baseline, watch);
  }
  const simulation = { ...steady, baseline: singleBaseline(baseline, tuned) };
  const { nowMs } = watch;
  const startMs = nowMs();
  const result = simulate(bundle, simulation);
  const wallMs = nowMs() - startMs;
  const queriesPerWallSecond = Math.round((1000 * result.queries) / wallMs);
  const level = simulation.baseline === null ? levelFor(bundle, simulation.arrivals) : null;
  return {
    exitCode: EXIT_CODES.ok,
    text: render(result, level, queriesPerWallSecond),
    json: {
      ...result,
      wallMs,
      queriesPerWallSecond,
      ...(level === null ? {} : { expected: level.expected }),
    },
  };
}

type SingleBaseline = NonNullable<SimulationOptions["baseline"]>;
/** Of stages that are provisioned or scaled, and of malleable pipelines. */
type OtherBaseline = StageBaselineName | ScaleBaselineName | PlaceBaselineName;
type NamedBaseline = SingleBaseline | PipelineBaseline | OtherBaseline;

/** A name that pipelines have as well stays a name: what it stands for is the bundle's to say. */
function parseBaseline(text: string | undefined, tuned: boolean): NamedBaseline | null {
  if (text === undefined) {
    if (!tuned) return null;
    throw new RuntimeError(
      "RUNTIME_USAGE",
      "--tuned needs a --baseline, whose parameters it tunes",
    );
  }
  const others = [
    ...PIPELINE_BASELINES,
    ...STAGE_BASELINES,
    ...SCALE_BASELINES,
    ...PLACE_BASELINES,
  ];
  const named = others.find((name) => name === text) ?? singleBaselineNamed(text, tuned);
  if (named !== null) return named;
  throw new RuntimeError(
    "RUNTIME_USAGE",
    `expected --baseline one of ${SINGLE_BASELINES.join(", ")}, for a pipeline one of ${PIPELINE_BASELINES.join(", ")}, for provisioned stages one of ${STAGE_BASELINES.join(", ")}, for scaled stages one of ${SCALE_BASELINES.join(", ")}, or for malleable pipelines one of ${PLACE_BASELINES.join(", ")}; got "${text}"`,
  );
}

function notTunable(method: string): RuntimeError {
  return new RuntimeError(
    "RUNTIME_USAGE",
    `--tuned is for the baselines of bundles of method ramsis, and this one is of method ${method}`,
  );
}

/** @throws RuntimeError for a baseline of provisioned or scaled stages, or of malleable pipelines. */
function pipelineBaseline(
  baseline: NamedBaseline | null,
): Exclude<NamedBaseline, OtherBaseline> | null {
  if (!isOfOtherMethod(baseline)) return baseline;
  throw new RuntimeError(
    "RUNTIME_USAGE",
    `--baseline ${baseline} is for a bundle of method ${methodOf(baseline)}, and this one is of method loki; expected one of ${PIPELINE_BASELINES.join(", ")}`,
  );
}

function isOfOtherMethod(baseline: NamedBaseline | null): baseline is OtherBaseline {
  const others = [...STAGE_BASELINES, ...SCALE_BASELINES, ...PLACE_BASELINES];
  return others.some((name) => name === baseline);
}

function methodOf(baseline: OtherBaseline): string {
  if (SCALE_BASELINES.some((name) => name === baseline)) return "themis";
  return PLACE_BASELINES.some((name) => name === baseline) ? "accordion" : "inferline";
}

/** @throws RuntimeError for a baseline of a pipeline, of stages or of malleable pipelines. */
function singleBaseline(
  baseline: NamedBaseline | null,
  tuned: boolean,
): SimulationOptions["baseline"] {
  if (typeof baseline !== "string") return baseline;
  const single = singleBaselineNamed(baseline, tuned);
  if (single !== null) return single;
  const isOfPlaces = PLACE_BASELINES.some((name) => name === baseline);
  const why = isOfPlaces
    ? "is for a bundle of method accordion, and this one is of method ramsis"
    : "is for pipelines, and this bundle has one task";
  throw new RuntimeError(
    "RUNTIME_USAGE",
    `--baseline ${baseline} ${why}; expected one of ${SINGLE_BASELINES.join(", ")}`,
  );
}

/** The level whose expectation a steady load is to be compared with; a trace has none. */
function levelFor(bundle: RamsisBundle, arrivals: ArrivalProcess): RamsisLevel | null {
  if (arrivals.kind === "trace") return null;
  const carrying = bundle.levels.find((level) => level.loadQps >= arrivals.qps);
  return carrying ?? bundle.levels.at(-1) ?? null;
}

function render(result: SimulationResult, level: RamsisLevel | null, perSecond: number): string {
  const { latencyMs, queries } = result;
  const measured = [
    ["", "simulated", ...(level === null ? [] : [`expected at ${level.loadQps} qps`])],
    row("accuracy/satisfied", result.accuracyPerSatisfied, level?.expected.accuracyPerSatisfied),
    row("accuracy/query", result.accuracyPerQuery, level?.expected.accuracyPerQuery),
    [
      "violations",
      countedViolations(queries - result.satisfied, queries),
      ...(level === null ? [] : [promisedViolations(level.expected)]),
    ],
  ];
  const variants = Object.entries(result.byVariant).map(([name, outcome]) => [
    name,
    percent(queries === 0 ? null : outcome.queries / queries),
    outcome.meanBatch === null ? "-" : outcome.meanBatch.toFixed(2),
    percent(outcome.accuracy),
  ]);
  const late = `${result.late} late, ${result.dropped} dropped`;
  const latency =
    latencyMs === null
      ? "no query was served"
      : `latency ms: mean ${ms(latencyMs.mean)}, p50 ${ms(latencyMs.p50)}, p95 ${ms(latencyMs.p95)}, p99 ${ms(latencyMs.p99)}, max ${ms(latencyMs.max)}`;
  return [
    `${queries} queries in ${result.durationMs / 1000} s, seed ${result.seed}: ${late}; ${perSecond} queries per wall second`,
    latency,
    ...(result.baseline === undefined ? [] : [baselineLine(result.baseline)]),
    "",
    alignColumns(measured),
    "",
    ...(result.byClass === undefined ? [] : [classTable(result.byClass, level), ""]),
    alignColumns([["variant", "share", "mean batch", "accuracy"], ...variants]),
  ].join("\n");
}

/** One row for each class, what was simulated beside what the level states. */
function classTable(
  byClass: NonNullable<SimulationResult["byClass"]>,
  level: RamsisLevel | null,
): string {
  const rows = Object.entries(byClass).map(([name, one]) => {
    const expected = level?.expected.byClass?.[name];
    const stated = [expected?.accuracyPerSatisfied, expected?.violationRate];
    return [
      name,
      String(one.queries),
      percent(one.accuracyPerSatisfied),
      percent(one.accuracyPerQuery),
      percent(one.violationRate),
      one.latencyMs === null ? "-" : ms(one.latencyMs.p50),
      one.latencyMs === null ? "-" : ms(one.latencyMs.p99),
      ...(level === null ? [] : stated.map((value) => percent(value ?? null))),
    ];
  });
  const heads = ["class", "queries", "accuracy/satisfied", "accuracy/query", "violations"];
  const stated = level === null ? [] : ["expected accuracy/satisfied", "expected violations ≤"];
  return alignColumns([[...heads, "p50 ms", "p99 ms", ...stated], ...rows]);
}

function row(label: string, simulated: number | null, expected: number | undefined): string[] {
  return [label, percent(simulated), ...(expected === undefined ? [] : [percent(expected)])];
}

function ms(value: number): string {
  return value.toFixed(1);
}
