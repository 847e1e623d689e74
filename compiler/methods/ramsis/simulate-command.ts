/**
 * `stratagem simulate BUNDLE` of decision tables: the bundle's decisions, or a baseline's, on a
 * virtual clock.
 */
import type {
  ClassExpected,
  Expected,
  RamsisBundle,
  RamsisLevel,
} from "stratagem-runtime/internal/bundle/schema";
import type { CommandResult } from "stratagem-runtime/internal/commands/command-result";
import { EXIT_CODES, RuntimeError } from "stratagem-runtime/internal/errors";
import {
  alignColumns,
  countedViolations,
  percent,
  promisedViolations,
} from "stratagem-runtime/internal/tell/text";
import type { SimulateWatch } from "../../processes/simulate-watch.ts";
import type { ArrivalProcess } from "../../simulate/arrivals.ts";
import type { NamedBaseline, SimulationRequest } from "../method.ts";
import { baselineLine, SINGLE_BASELINES, singleBaselineNamed } from "./baselines.ts";
import type { Baseline } from "./simulate/baseline-names.ts";
import { type SimulationResult, simulate } from "./simulate/simulate.ts";

/** @throws RuntimeError for a baseline of another kind of bundle. */
export async function simulateTablesCommand(
  bundle: RamsisBundle,
  { baseline, fanout: _, ...simulation }: SimulationRequest,
  { nowMs }: Pick<SimulateWatch, "nowMs">,
): Promise<CommandResult> {
  const beaten = baseline && singleBaseline(baseline);
  const simulated = beaten === null ? simulate : await simulationOf(beaten);
  const startMs = nowMs();
  const result = simulated(bundle, simulation);
  const wallMs = nowMs() - startMs;
  const queriesPerWallSecond = Math.round((1000 * result.queries) / wallMs);
  const level = beaten === null ? levelFor(bundle, simulation.arrivals) : null;
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

/** Loads a baseline, which nothing else needs. */
async function simulationOf(baseline: Baseline): Promise<typeof simulate> {
  const { simulateBaseline } = await import("./simulate/baselines/simulate-baseline.ts");
  return (bundle, options) => simulateBaseline(bundle, baseline, options);
}

function singleBaseline({ text, tuned, from }: NamedBaseline): Baseline {
  const single = singleBaselineNamed(text, tuned);
  if (single !== null) return single;
  const why = from.baselines.isOfPipelines
    ? "is for pipelines, and this bundle has one task"
    : `is for a bundle of method ${from.name}, and this one is of method ramsis`;
  throw new RuntimeError(
    "RUNTIME_USAGE",
    `--baseline ${text} ${why}; expected one of ${SINGLE_BASELINES.join(", ")}`,
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
      : `latency ms: mean ${ms(latencyMs.mean)}, p50 ${ms(latencyMs.p50)}, ` +
        `p95 ${ms(latencyMs.p95)}, p99 ${ms(latencyMs.p99)}, max ${ms(latencyMs.max)}`;
  return [
    `${queries} queries in ${result.durationMs / 1000} s, seed ${result.seed}: ` +
      `${late}; ${perSecond} queries per wall second`,
    latency,
    ...(result.baseline === undefined ? [] : [baselineLine(result.baseline)]),
    "",
    alignColumns(measured),
    "",
    ...(result.byClass === undefined
      ? []
      : [kindTable("class", result.byClass, ({ byClass }, name) => byClass?.[name], level), ""]),
    ...(result.byBucket === undefined
      ? []
      : [kindTable("bucket", result.byBucket, ({ byBucket }, _, at) => byBucket?.[at], level), ""]),
    alignColumns([["variant", "share", "mean batch", "accuracy"], ...variants]),
  ].join("\n");
}

/** One row for each class, or bucket: what was simulated beside what the level states. */
function kindTable(
  kind: "class" | "bucket",
  byKind: NonNullable<SimulationResult["byClass"]>,
  statedOf: (expected: Expected, name: string, at: number) => ClassExpected | undefined,
  level: RamsisLevel | null,
): string {
  const rows = Object.entries(byKind).map(([name, one], at) => {
    const expected = level === null ? undefined : statedOf(level.expected, name, at);
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
  const heads = [kind, "queries", "accuracy/satisfied", "accuracy/query", "violations"];
  const stated = level === null ? [] : ["expected accuracy/satisfied", "expected violations ≤"];
  return alignColumns([[...heads, "p50 ms", "p99 ms", ...stated], ...rows]);
}

function row(label: string, simulated: number | null, expected: number | undefined): string[] {
  return [label, percent(simulated), ...(expected === undefined ? [] : [percent(expected)])];
}

function ms(value: number): string {
  return value.toFixed(1);
}
