/** Output of `stratagem simulate` for a run of any method: lines, tables, JSON. */

import { EXIT_CODES } from "stratagem-runtime/internal/base/errors";
import type { CommandResult } from "stratagem-runtime/internal/commands/command-result";
import { levelForLoad } from "stratagem-runtime/internal/core/level-choice";
import {
  explainedTable,
  INTERVAL_NOTE,
  percent,
  short,
} from "stratagem-runtime/internal/describe/text";
import type { ArrivalProcess } from "../simulate/arrivals.ts";
import { type LatencySummary, latencyLine } from "../simulate/latency-sample.ts";

/** Counters of every simulation. */
interface CountedRun {
  readonly queries: number;
  readonly durationMs: number;
  readonly seed: number;
  readonly late: number;
  readonly dropped: number;
  readonly violationRate: number;
  readonly latencyMs: LatencySummary | null;
  /** Set for pipelines, whose requests become queries of tasks. */
  readonly byTask?: Readonly<Record<string, { readonly queries: number }>>;
}

/** Label, simulated figure and, if a level is compared, its stated figure. */
export type ComparedRow = readonly [label: string, simulated: string, stated: string | undefined];

interface RunFacts {
  readonly wallMs: number;
  /** Counted items, if these are not just queries. */
  readonly counted?: string;
  /** Null for a baseline, and for a trace. */
  readonly level: { readonly loadQps: number } | null;
  readonly expected: object | undefined;
  /** Lines below the latencies. */
  readonly lines: readonly string[];
  readonly rows: readonly ComparedRow[];
  readonly tables: readonly (readonly (readonly string[])[])[];
  /** JSON keys in addition to the result. */
  readonly json?: object;
}

export function runReport(result: CountedRun, run: RunFacts): CommandResult {
  const { queries, latencyMs, byTask } = result;
  const { wallMs, level, expected } = run;
  const rate = (count: number) => Math.round((1000 * count) / wallMs);
  const [many, one] = byTask === undefined ? ["queries", "query"] : ["requests", "request"];
  const ofTasks = Object.values(byTask ?? {}).reduce((sum, task) => sum + task.queries, 0);
  const timed = byTask === undefined ? `${rate(queries)}` : `${rate(ofTasks)} task`;
  const text = [
    `${run.counted ?? `${queries} ${many}`} in ${result.durationMs / 1000} s, ` +
      `seed ${result.seed}: ${result.late} late, ${result.dropped} dropped; ` +
      `${timed} queries per wall second`,
    latencyMs === null ? `no ${one} was served` : `latency ms: ${latencyLine(latencyMs)}`,
    ...(latencyMs?.intervals === undefined ? [] : [INTERVAL_NOTE]),
    ...run.lines,
    "",
    explainedTable([
      ["", "simulated", ...(level === null ? [] : [`expected at ${level.loadQps} qps`])],
      ...run.rows.map((row) => row.filter((cell) => cell !== undefined)),
    ]),
    ...run.tables.flatMap((table) => ["", explainedTable(table)]),
  ];
  return {
    exitCode: EXIT_CODES.ok,
    text: text.join("\n"),
    json: {
      ...result,
      ...run.json,
      wallMs,
      queriesPerWallSecond: rate(queries),
      ...(byTask === undefined ? {} : { taskQueriesPerWallSecond: rate(ofTasks) }),
      ...(expected === undefined ? {} : { expected }),
    },
  };
}

/** Violations and latencies, as the levels of plans state them. */
export function lateRows(
  { violationRate, latencyMs }: Pick<CountedRun, "violationRate" | "latencyMs">,
  expected:
    | {
        readonly violationRate: number;
        readonly latencyMsP50: number;
        readonly latencyMsP99: number;
      }
    | undefined,
): ComparedRow[] {
  return [
    ["violations", percent(violationRate), stated(expected?.violationRate, percent)],
    ["latency ms p50", tenthsOrDash(latencyMs?.p50), stated(expected?.latencyMsP50, tenths)],
    ["latency ms p99", tenthsOrDash(latencyMs?.p99), stated(expected?.latencyMsP99, tenths)],
  ];
}

/** Undefined if no level states the figure. */
export function stated(
  value: number | undefined,
  text: (value: number) => string,
): string | undefined {
  return value === undefined ? undefined : text(value);
}

export function tenths(value: number): string {
  return value.toFixed(1);
}

export function tenthsOrDash(value: number | undefined): string {
  return value === undefined ? "-" : tenths(value);
}

export function shortOrDash(value: number | null): string {
  return value === null ? "-" : short(value);
}

/** Returns the level to compare a steady load with; null for a trace. */
export function steadyLevel<L extends { readonly loadQps: number }>(
  levels: readonly L[],
  arrivals: ArrivalProcess,
): L | null {
  if (arrivals.kind === "trace") return null;
  return levels[levelForLoad(levels, arrivals.qps)] ?? null;
}
