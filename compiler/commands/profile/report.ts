/** Output of `profile`: the plan of a dry run, and the results. */

import { EXIT_CODES } from "stratagem-runtime/internal/base/errors";
import type { CommandResult } from "stratagem-runtime/internal/commands/command-result";
import { explainedTable, percent } from "stratagem-runtime/internal/describe/text";
import { fallbackText } from "stratagem-runtime/internal/exec/models/model-facts";
import type { Measurement, UnmeasuredCell } from "../../profile/latency-profile.ts";
import { runCountOf } from "../../profile/measure.ts";
import type { MeasuredAccuracy } from "../../profile/measured-accuracy.ts";
import type { MeasuredStart } from "../../profile/measured-starts.ts";
import { noiseLines, percentText } from "../../profile/noise-messages.ts";
import { inputsText, type ProfilePlan } from "../../profile/profile-plan.ts";
import { leftOutLines } from "../../profile/profiled-batches.ts";
import { percentileText } from "../../simulate/latency-sample.ts";

/** Output files of a profile. */
export interface ProfilePaths {
  readonly profile: string;
  readonly measurement: string;
}

/** @param out null if no profile will be written. */
export function describePlan(
  plan: ProfilePlan,
  out: string | null,
  budgetMs: number | null,
): CommandResult {
  const { variants, repeat, cores, isByCores, device, hardware, machine } = plan;
  const batches = measuredBatches(plan);
  const runs = runCountOf(plan);
  const rows = variants.map(({ name, path, accuracy }) => [
    name,
    accuracy === null ? "-" : String(accuracy),
    path,
  ]);
  const leftOut = leftOutLines(variants, plan.batches);
  const budget = budgetMs === null ? "" : `, or as many as fit in ${budgetMs / 1000} s`;
  const onCores = isByCores ? ` on ${cores.join(", ")} cores` : "";
  return {
    exitCode: EXIT_CODES.ok,
    text: [
      `would measure ${counted(variants.length, "variant")} at ` +
        `${batches.length === 1 ? "batch" : "batches"} ${batches.join(", ")}${onCores}, ` +
        `${repeat} times each: ${runs} runs with the warm-up${budget}`,
      `hardware ${hardware}, device ${device}${isByCores ? "" : `, threads ${cores[0]}`}; ` +
        `would write ${out ?? "the file of -o"}`,
      ...leftOut,
      "",
      explainedTable([["variant", "accuracy", "model"], ...rows]),
    ].join("\n"),
    json: {
      profile: out,
      hardware,
      device,
      threads: cores[0],
      cores,
      batches,
      repeat,
      budgetMs,
      runs,
      ...(leftOut.length === 0 ? {} : { leftOut }),
      machine,
      variants: variants.map(({ name, path, accuracy, batches: own, model: { sha256 } }) => {
        return { name, accuracy, model: path, sha256, batches: own };
      }),
    },
  };
}

/** Returns the batches that any variant is measured at, ascending. */
function measuredBatches({ variants }: ProfilePlan): number[] {
  return [...new Set(variants.flatMap(({ batches }) => batches))].sort((a, b) => a - b);
}

/** @param notFinite variants with NaN or infinite outputs. */
export function report(
  plan: ProfilePlan,
  measurement: Measurement,
  paths: ProfilePaths,
  notFinite: readonly string[],
  starts: ReadonlyMap<string, MeasuredStart> = new Map(),
  accuracies: readonly MeasuredAccuracy[] = [],
): CommandResult {
  const { cells, notMeasured } = measurement;
  const counts = cells.map(({ samples }) => samples);
  const [fewest, most] = [Math.min(...counts), Math.max(...counts)];
  const hasBuckets = cells.some(({ bucket }) => bucket !== undefined);
  const rows = cells.map((cell) => {
    const { variant, batch, cores, bucket = "", samples, wallMs, cpuMs, p99Interval } = cell;
    const { p50, p95, p99 } = wallMs;
    return [
      variant,
      ...(hasBuckets ? [bucket] : []),
      ...(plan.isByCores ? [String(cores)] : []),
      String(batch),
      ...(fewest === most ? [] : [String(samples)]),
      ms(p50),
      p95 === undefined ? "-" : ms(p95),
      p99 === undefined ? "-" : percentileText(p99, p99Interval, ms),
      ...[cpuMs.p50, p50 / batch].map(ms),
    ];
  });
  const figures = ["p50 ms", "p95 ms", "p99 ms", "CPU p50 ms", "p50 ms/query"];
  const heading = [
    "variant",
    ...(hasBuckets ? ["bucket"] : []),
    ...(plan.isByCores ? ["cores"] : []),
    "batch",
    ...(fewest === most ? [] : ["runs"]),
    ...figures,
  ];
  const unknown = plan.variants.filter(({ accuracy }) => accuracy === null);
  const leftOut = leftOutLines(plan.variants, plan.batches);
  const onCores = plan.isByCores ? ` on ${plan.cores.join(", ")} cores` : "";
  return {
    exitCode: EXIT_CODES.ok,
    text: [
      `${paths.profile}: ${counted(plan.variants.length, "variant")} at ` +
        `${counted(measuredBatches(plan).length, "batch size")}${onCores}, ` +
        `${fewest === most ? fewest : `${fewest} to ${most}`} runs each`,
      `${paths.measurement}: how it was measured`,
      `measured on ${inputsText(plan)}${hasRandom(plan) ? RANDOM_NOTE : ""}`,
      ...noiseLines(measurement, plan.isByCores),
      ...leftOut,
      ...deviceLines(plan, starts),
      ...fallbackLines(starts),
      ...notMeasuredLines(notMeasured, plan.isByCores),
      ...(unknown.length === 0
        ? []
        : [`without accuracy: ${unknown.map(({ name }) => name).join(", ")}${LABELS_NOTE}`]),
      ...(notFinite.length === 0
        ? []
        : [`outputs for random inputs are NaN or infinite: ${notFinite.join(", ")}`]),
      "",
      explainedTable([heading, ...rows]),
      ...accuracyLines(accuracies),
    ].join("\n"),
    json: {
      ...paths,
      ...(accuracies.length === 0 ? {} : { accuracies }),
      ...(notFinite.length === 0 ? {} : { notFinite }),
      ...(leftOut.length === 0 ? {} : { leftOut }),
      ...startsJson(starts),
      ...measurement,
    },
  };
}

function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? "" : "s"}`;
}

const RANDOM_NOTE = "; if times depend on the input, measure with real rows: --inputs";

const LABELS_NOTE = "; state it in the spec, or measure it: --inputs with --labels";

/** Shows measured accuracies, and which of the spec's hide them. */
function accuracyLines(accuracies: readonly MeasuredAccuracy[]): string[] {
  if (accuracies.length === 0) return [];
  const rows = accuracies.map(({ variant, rows, correct, accuracy, lower, upper, stated }) => [
    ...[variant, String(rows), String(correct), percent(accuracy)],
    ...[`${percent(lower)} to ${percent(upper)}`, percent(stated)],
  ]);
  const hidden = accuracies.filter(({ stated, accuracy }) => (stated ?? accuracy) !== accuracy);
  const heading = ["variant", "rows", "correct", "accuracy", "95 % interval", "in the spec"];
  const note =
    "the profile has these accuracies, but those of the spec count: delete accuracy there for " +
    hidden.map(({ variant }) => variant).join(", ");
  return ["", explainedTable([heading, ...rows]), ...(hidden.length === 0 ? [] : [note])];
}

function hasRandom({ variants }: ProfilePlan): boolean {
  return variants.some(({ rows, samples }) => rows === undefined && samples === undefined);
}

/** Describes the GPU and the start time of a new worker on it. */
function deviceLines(
  { device, measuredOn: { name, driver } }: ProfilePlan,
  starts: ReadonlyMap<string, MeasuredStart>,
): string[] {
  if (device === "cpu") return [];
  const lines = [...starts].flatMap(([variant, { start }]) => {
    if (start === undefined) return [];
    const { processMs, loadMs, warmMs } = start;
    const whole = (ms: number) => String(Math.round(ms));
    const [process, model, runs] = [processMs, loadMs, warmMs].map(whole);
    const parts = `process ${process}, model ${model}, first runs ${runs}`;
    const sum = whole(processMs + loadMs + warmMs);
    return [`a new worker of ${variant} is ready after ${sum} ms: ${parts}`];
  });
  return [`on ${device}: ${name}${driver === null ? "" : `, driver ${driver}`}`, ...lines];
}

/** Lists the nodes that run on the CPU although the device is a GPU. */
function fallbackLines(starts: ReadonlyMap<string, MeasuredStart>): string[] {
  return [...starts].flatMap(([variant, { fallback, facts }]) => {
    const text = fallbackText(facts);
    if (text === null) return [];
    const names = fallback === undefined ? [] : [`  ${fallback.names.join(", ")}`];
    return [`${variant}: ${text}`, ...names];
  });
}

function startsJson(starts: ReadonlyMap<string, MeasuredStart>): object {
  if (starts.size === 0) return {};
  const entries = [...starts].map(([variant, { start, fallback }]) => {
    return [variant, { start, ...(fallback && { fallback }) }];
  });
  return { starts: Object.fromEntries(entries) };
}

/** Lists the cells that did not fit in the budget. */
function notMeasuredLines(cells: readonly UnmeasuredCell[], isByCores: boolean): string[] {
  if (cells.length === 0) return [];
  const named = cells.map(({ variant, batch, cores, predictedMs, predictedError }) => {
    const where = `${variant} batch ${batch}${isByCores ? ` on ${cores} cores` : ""}`;
    return `${where} (about ${ms(predictedMs)} ms, ±${percentText(predictedError)})`;
  });
  return [`not measured within the budget: ${named.join(", ")}`];
}

function ms(value: number): string {
  return value.toFixed(3);
}
