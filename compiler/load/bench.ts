/** Implements `stratagem bench URL`: sends load to a running server. */

import { EXIT_CODES, RuntimeError } from "stratagem-runtime/internal/base/errors";
import type { CommandResult } from "stratagem-runtime/internal/commands/command-result";
import { explainedTable, INTERVAL_NOTE, percent } from "stratagem-runtime/internal/describe/text";
import { latencyLine, percentileOrDash } from "../simulate/latency-sample.ts";
import { inputsFromFiles } from "./input-file.ts";
import {
  parseArrivals,
  parseCount,
  parseDurationMs,
  parseTimeMs,
  spreadOf,
} from "./load-arguments.ts";
import type { LoadOutcome } from "./load-tally.ts";
import {
  DEFAULT_MAX_OUTSTANDING,
  DEFAULT_TIMEOUT_MS,
  type LoadOptions,
  type LoadResult,
  runLoad,
} from "./run-load.ts";

export interface BenchOptions {
  readonly url: string;
  readonly arrivals?: string;
  /** Queries in flight, instead of arrivals. */
  readonly concurrency?: string;
  readonly duration?: string;
  readonly slo?: string;
  /** Class of all queries, or `all` to draw one for each by the stated shares. */
  readonly sloClass?: string;
  readonly model?: string;
  /** Files of raw rows, and of the class of each per line. */
  readonly inputs?: string;
  readonly labels?: string;
}

type BenchSurroundings = Pick<LoadOptions, "nowMs" | "onProgress" | "signal">;

/** That of `simulate` by default: both have the same arrivals. */
const SEED = 1;
/** Part of the SLO that the generator may be late before the text warns. */
const LAG_SHARE = 0.1;

/** @throws RuntimeError for an invalid option or server, InputError for a file. */
export async function benchCommand(
  options: BenchOptions,
  surroundings: BenchSurroundings,
): Promise<CommandResult> {
  const { inputs, labels = null } = options;
  if (inputs === undefined && labels !== null) {
    throw new RuntimeError("RUNTIME_USAGE", "expected --inputs with --labels, got none");
  }
  const arrivals = arrivalsOf(options);
  const [notices, spread] = spreadOf(options.arrivals ?? "", arrivals);
  const result = await runLoad({
    url: options.url,
    model: options.model ?? null,
    arrivals,
    durationMs: parseDurationMs(options.duration, arrivals),
    seed: SEED,
    sloMs: options.slo === undefined ? null : parseTimeMs("--slo", options.slo),
    ...classesOf(options),
    inputs: inputs === undefined ? null : await inputsFromFiles(inputs, labels),
    warmUpQueries: 0,
    maxOutstanding: DEFAULT_MAX_OUTSTANDING,
    timeoutMs: DEFAULT_TIMEOUT_MS,
    ...surroundings,
  });
  return {
    exitCode: EXIT_CODES.ok,
    text: [...notices, render(result)].join("\n"),
    json: { ...result, ...spread },
  };
}

/** @throws RuntimeError without one of the two, or with both */
function arrivalsOf({ arrivals, concurrency }: BenchOptions): LoadOptions["arrivals"] {
  if (arrivals !== undefined && concurrency === undefined) return parseArrivals(arrivals, SEED);
  if (arrivals !== undefined || concurrency === undefined) {
    const found = arrivals === undefined ? "neither" : "both";
    throw new RuntimeError("RUNTIME_USAGE", `expected --arrivals or --concurrency, got ${found}`);
  }
  const count = parseCount("--concurrency", concurrency);
  if (count >= 1 && count <= DEFAULT_MAX_OUTSTANDING) return { kind: "closed", concurrency: count };
  const expected = `expected --concurrency 1 to ${DEFAULT_MAX_OUTSTANDING}`;
  throw new RuntimeError("RUNTIME_USAGE", `${expected}, got ${count}`);
}

function classesOf({ sloClass, slo }: BenchOptions): Pick<LoadOptions, "classes"> {
  if (sloClass === undefined) return {};
  if (sloClass !== "all") return { classes: { kind: "one", name: sloClass } };
  if (slo === undefined) return { classes: { kind: "all" } };
  throw new RuntimeError("RUNTIME_USAGE", "expected no --slo with --slo-class all");
}

function render(result: LoadResult): string {
  const { queries, latencyMs: latency, latencyFromSendMs: fromSend, sendLagMs: lag } = result;
  const byClass = Object.entries(result.byClass ?? {});
  const none = byClass.length === 0 ? "no SLO" : "the SLO of each class";
  const slo = result.sloMs === null ? none : `SLO ${result.sloMs} ms`;
  const answered = result.satisfied + result.late;
  const totals = [
    ["", "measured"],
    ["violations", percent(result.violationRate)],
    ["accuracy/satisfied", percent(result.accuracyPerSatisfied)],
    ["accuracy/query", percent(result.accuracyPerQuery)],
    ["accuracy by labels", percent(result.measuredAccuracy)],
  ];
  const variants = Object.entries(result.byVariant).map(([name, outcome]) => [
    name,
    percent(queries === 0 ? null : outcome.queries / queries),
    percent(outcome.labelled === 0 ? null : outcome.correct / outcome.labelled),
  ]);
  const errors = Object.entries(result.errors).map(([reason, count]) => `${count} × ${reason}`);
  return [
    `${queries} queries to "${result.model}" in ${result.durationMs / 1000} s, seed ` +
      `${result.seed}, ${slo}: ${result.late} late, ${result.dropped} dropped`,
    `${(answered / (result.wallMs / 1000)).toPrecision(4)} answers/s`,
    latency === null ? "no query was answered" : `latency ms: ${latencyLine(latency)}`,
    ...(fromSend === null
      ? []
      : [
          `from the time of sending: p50 ${percentileOrDash(fromSend, "p50")}, ` +
            `p99 ${percentileOrDash(fromSend, "p99")}`,
        ]),
    ...(latency?.intervals === undefined ? [] : [INTERVAL_NOTE]),
    ...(lag === null
      ? []
      : [`sending delay ms: p50 ${ms(lag.p50)}, p99 ${ms(lag.p99)}, max ${ms(lag.max)}`]),
    ...(lag !== null && result.sloMs !== null && lag.p99 > LAG_SHARE * result.sloMs
      ? ["warning: the load generator sent requests late by more than a tenth of the SLO"]
      : []),
    processorLine(result),
    ...(errors.length === 0 ? [] : [`errors: ${errors.join(", ")}`]),
    "",
    explainedTable(totals),
    ...(byClass.length === 0 ? [] : ["", classTable(byClass)]),
    "",
    explainedTable([["variant", "share", "accuracy by labels"], ...variants]),
  ].join("\n");
}

function processorLine({ processors }: LoadResult): string {
  const { generatorShare, stealShare, busyShare } = processors;
  const generator = `the load generator used ${percent(generatorShare)} of the processors`;
  if (stealShare === null || busyShare === null) return generator;
  const others = `other guests ${percent(stealShare)}`;
  return `${generator}, all processes ${percent(busyShare)}, ${others}`;
}

function classTable(byClass: readonly (readonly [string, LoadOutcome])[]): string {
  return explainedTable([
    ["class", "queries", "late", "dropped", "violations", "accuracy/satisfied", "p50 ms", "p99 ms"],
    ...byClass.map(([name, outcome]) => [
      name,
      String(outcome.queries),
      String(outcome.late),
      String(outcome.dropped),
      percent(outcome.violationRate),
      percent(outcome.accuracyPerSatisfied),
      percentileOrDash(outcome.latencyMs, "p50"),
      percentileOrDash(outcome.latencyMs, "p99"),
    ]),
  ]);
}

function ms(value: number): string {
  return value.toFixed(1);
}
