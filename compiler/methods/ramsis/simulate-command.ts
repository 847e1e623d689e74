/**
 * `stratagem simulate BUNDLE` of decision tables: the bundle's decisions, or a baseline's, on a
 * virtual clock.
 */

import { RuntimeError } from "stratagem-runtime/internal/base/errors";
import type {
  ClassExpected,
  Expected,
  RamsisBundle,
  RamsisLevel,
} from "stratagem-runtime/internal/bundle/schema";
import type { CommandResult } from "stratagem-runtime/internal/commands/command-result";
import {
  countedViolations,
  percent,
  promisedViolations,
} from "stratagem-runtime/internal/describe/text";
import type { SimulateWatch } from "../../processes/simulate-watch.ts";
import { percentileOrDash } from "../../simulate/latency-sample.ts";
import type { NamedBaseline, SimulationRequest } from "../method.ts";
import { type ComparedRow, runReport, stated, steadyLevel } from "../run-report.ts";
import { baselineLine, SINGLE_BASELINES, singleBaselineNamed } from "./baselines.ts";
import type { Baseline } from "./simulate/baseline-names.ts";
import { type SimulationResult, simulate } from "./simulate/simulate.ts";

/** @throws RuntimeError for a baseline of another kind of bundle. */
export async function simulateTablesCommand(
  bundle: RamsisBundle,
  { baseline, fanout: _, countedFromMs: fromMs = 0, ...asked }: SimulationRequest,
  { nowMs }: Pick<SimulateWatch, "nowMs">,
): Promise<CommandResult> {
  const simulation = { ...asked, counted: { fromMs, untilMs: Number.POSITIVE_INFINITY } };
  const beaten = baseline && singleBaseline(baseline);
  const simulated = beaten === null ? simulate : await simulationOf(beaten);
  const startMs = nowMs();
  const result = simulated(bundle, simulation);
  const wallMs = nowMs() - startMs;
  const level = beaten === null ? steadyLevel(bundle.levels, simulation.arrivals) : null;
  return runReport(result, {
    wallMs,
    level,
    expected: level?.expected,
    lines: result.baseline === undefined ? [] : [baselineLine(result.baseline)],
    rows: comparison(result, level?.expected),
    tables: tablesOf(result, level),
  });
}

/** Loads a baseline on first use. */
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

function comparison(result: SimulationResult, expected: Expected | undefined): ComparedRow[] {
  const { queries, satisfied } = result;
  const row = (label: string, key: "accuracyPerSatisfied" | "accuracyPerQuery"): ComparedRow => {
    return [label, percent(result[key]), stated(expected?.[key], percent)];
  };
  return [
    row("accuracy/satisfied", "accuracyPerSatisfied"),
    row("accuracy/query", "accuracyPerQuery"),
    [
      "violations",
      countedViolations(queries - satisfied, queries),
      expected && promisedViolations(expected),
    ],
  ];
}

function tablesOf(result: SimulationResult, level: RamsisLevel | null): string[][][] {
  const { queries, byClass, byBucket } = result;
  const variants = Object.entries(result.byVariant).map(([name, outcome]) => [
    name,
    percent(queries === 0 ? null : outcome.queries / queries),
    outcome.meanBatch === null ? "-" : outcome.meanBatch.toFixed(2),
    percent(outcome.accuracy),
  ]);
  return [
    ...(byClass === undefined
      ? []
      : [kindTable("class", byClass, (expected, name) => expected.byClass?.[name], level)]),
    ...(byBucket === undefined
      ? []
      : [kindTable("bucket", byBucket, (expected, _, at) => expected.byBucket?.[at], level)]),
    [["variant", "share", "mean batch", "accuracy"], ...variants],
  ];
}

/** One row for each class, or bucket: simulated figures beside the stated ones. */
function kindTable(
  kind: "class" | "bucket",
  byKind: NonNullable<SimulationResult["byClass"]>,
  statedOf: (expected: Expected, name: string, at: number) => ClassExpected | undefined,
  level: RamsisLevel | null,
): string[][] {
  const rows = Object.entries(byKind).map(([name, one], at) => {
    const expected = level === null ? undefined : statedOf(level.expected, name, at);
    const promised = [expected?.accuracyPerSatisfied, expected?.violationRate];
    return [
      name,
      String(one.queries),
      percent(one.accuracyPerSatisfied),
      percent(one.accuracyPerQuery),
      percent(one.violationRate),
      percentileOrDash(one.latencyMs, "p50"),
      percentileOrDash(one.latencyMs, "p99"),
      ...(level === null ? [] : promised.map((value) => percent(value ?? null))),
    ];
  });
  const heads = [kind, "queries", "accuracy/satisfied", "accuracy/query", "violations"];
  const promised = level === null ? [] : ["expected accuracy/satisfied", "expected violations ≤"];
  return [[...heads, "p50 ms", "p99 ms", ...promised], ...rows];
}
