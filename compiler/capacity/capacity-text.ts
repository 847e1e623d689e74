/** Results of `stratagem capacity` as text and as data. */
import {
  type Bundle,
  type Level,
  violationCeiling,
} from "stratagem-runtime/internal/bundle/schema";
import type { CommandResult } from "stratagem-runtime/internal/commands/command-result";
import {
  explainedTable,
  percent,
  rounded,
  wrapped,
} from "stratagem-runtime/internal/describe/text";
import type { CompilerMethod } from "../methods/method.ts";
import { fewestQueries, rateOf, sumOf } from "./evidence.ts";
import type { LiveCapacity } from "./live.ts";
import type { Capacity } from "./search.ts";
import type { AccuracyCost, LoadRow, SizedCapacity } from "./simulated.ts";

interface Found {
  /** The cluster's own number of workers first. */
  readonly sizes: readonly SizedCapacity[];
  readonly accuracyCost: AccuracyCost | null;
  readonly isInterrupted: boolean;
}

interface Limits {
  readonly sloMs: number | null;
  readonly limit: number | null;
  readonly confidence: number;
}

const EXIT_INTERRUPTED = 130;
const INTERRUPTED = "interrupted: what was known by then";

export function simulatedResult(
  bundle: Bundle,
  method: CompilerMethod,
  { sloMs, limit: asked, confidence }: Limits,
  { sizes, accuracyCost, isInterrupted }: Found,
): CommandResult {
  const { application, slo, arrivals } = bundle;
  const limit = asked ?? violationCeiling(slo);
  const own = sizes[0]?.capacity;
  const rows = sizes.flatMap(({ loads }) => loads).toSorted((a, b) => a.loadQps - b.loadQps);
  const sentences = sentencesOf(bundle, method, sizes, accuracyCost);
  const text = [
    headline(application, { limit, sloMs: sloMs ?? slo.latencyMs, confidence }) +
      `; ${arrivals.process} arrivals, simulated`,
    "",
    explainedTable([
      ["workers", "holds/s", "fails/s", "estimate/s"],
      ...sizes.map(({ workers, capacity }) => [String(workers), ...endsOf(capacity)]),
    ]),
    ...(rows.length === 0 ? [] : ["", loadTable(rows)]),
    "",
    ...sentences.map((sentence) => wrapped(sentence)),
    ...(isInterrupted ? [INTERRUPTED] : []),
  ];
  return {
    exitCode: isInterrupted ? EXIT_INTERRUPTED : 0,
    text: text.join("\n").trimEnd(),
    json: {
      ...{ application, method: method.name, sloMs: sloMs ?? slo.latencyMs, limit, arrivals },
      ...figuresOf(own, confidence),
      byWorkers: sizes.map(({ workers, capacity, loads }) => {
        return { workers, ...figuresOf(capacity, confidence), loads };
      }),
      accuracyCost,
      notes: sentences,
      isInterrupted,
    },
  };
}

export function liveResult(
  { model, sloMs, limit, seconds, capacity }: LiveCapacity,
  confidence: number,
  isInterrupted: boolean,
): CommandResult {
  const { tried, generatorQps, holdsQps, failsQps } = capacity;
  const fewest = fewestQueries(limit, 1 - confidence);
  const notes = [
    ...(generatorQps === null || failsQps !== null
      ? []
      : [
          `at ${rounded(generatorQps)}/s the load generator sent requests too late to tell: ` +
            "this is its limit, and the server may carry more",
        ]),
    ...(holdsQps === null || failsQps === null
      ? [
          `not proven in time: a load holds by ${fewest} requests in time, or more if late ones ` +
            "come together; a longer --duration sends more",
        ]
      : []),
  ];
  const rows = tried.map(({ loadQps, windows }) => [
    rounded(loadQps),
    String(sumOf(windows, "queries")),
    percent(rateOf(windows, "late")),
  ]);
  const text = [
    `${headline(model, { limit, sloMs, confidence })}; ${Math.round(seconds)} s of load`,
    "",
    explainedTable([["holds/s", "fails/s", "estimate/s"], endsOf(capacity)]),
    "",
    explainedTable([["load/s", "requests", "late or lost"], ...rows]),
    ...(notes.length === 0 ? [] : ["", ...notes.map((note) => wrapped(note))]),
    ...(isInterrupted ? [INTERRUPTED] : []),
  ];
  const json = { model, sloMs, limit, seconds, ...figuresOf(capacity, confidence) };
  const loads = tried.map(({ loadQps, windows }) => ({
    loadQps,
    samples: sumOf(windows, "queries"),
    violationRate: rateOf(windows, "late"),
  }));
  return {
    exitCode: isInterrupted ? EXIT_INTERRUPTED : 0,
    text: text.join("\n"),
    json: { ...json, loads, notes, isInterrupted },
  };
}

function headline(
  name: string,
  { limit, sloMs, confidence }: { limit: number; sloMs: number; confidence: number },
): string {
  return (
    `${name}: at most ${percent(limit)} late or lost with SLO ${rounded(sloMs)} ms; ` +
    `confidence ${rounded(100 * confidence)} %`
  );
}

function endsOf({ holdsQps, failsQps, estimateQps }: Capacity): string[] {
  return [holdsQps, failsQps, estimateQps].map((qps) => (qps === null ? "-" : rounded(qps)));
}

function figuresOf(capacity: Capacity | undefined, confidence: number): object {
  const { holdsQps = null, failsQps = null, estimateQps = null } = capacity ?? {};
  const { generatorQps = null, queries: samples = 0 } = capacity ?? {};
  return { holdsQps, failsQps, estimateQps, generatorQps, confidence, samples };
}

function loadTable(rows: readonly LoadRow[]): string {
  return explainedTable([
    ["load/s", "workers", "accuracy/query", "late or lost", "p50 ms", "p99 ms", "headroom"],
    ...rows.map(({ loadQps, workers, accuracy, violationRate, p50Ms, p99Ms, headroom }) => [
      rounded(loadQps),
      rounded(Number(workers.toFixed(1))),
      percent(accuracy),
      percent(violationRate),
      p50Ms === null ? "-" : p50Ms.toFixed(1),
      p99Ms === null ? "-" : p99Ms.toFixed(1),
      headroom === null ? "-" : rounded(headroom),
    ]),
  ]);
}

function sentencesOf(
  bundle: Bundle,
  method: CompilerMethod,
  sizes: readonly SizedCapacity[],
  cost: AccuracyCost | null,
): string[] {
  const levels: readonly Level[] = bundle.levels;
  const [own, ...others] = sizes;
  const holdsQps = own?.capacity.holdsQps ?? null;
  if (own === undefined || holdsQps === null) return [];
  const topQps = levels.at(-1)?.loadQps ?? 0;
  const more = others.find(({ workers }) => workers > own.workers);
  const isMore = more !== undefined && more.capacity.holdsQps !== null;
  return [
    `add a worker at ${rounded(holdsQps)}/s` +
      (isMore ? `: ${more.workers} workers hold ${rounded(more.capacity.holdsQps ?? 0)}/s` : ""),
    ...(method.scales ? [plansText(bundle, method, levels)] : []),
    ...(cost === null
      ? []
      : [
          `${pointsText(cost.accuracy)} ` +
            `${rounded(Number((100 * cost.capacityShare).toPrecision(2)))} % of capacity here`,
        ]),
    ...(bundle.cluster.serving === undefined
      ? ["models alone, without serving path (not profiled): a server may carry much less"]
      : []),
    ...(holdsQps > topQps
      ? [
          `the levels end at ${rounded(topQps)}/s: above, the last one decides; add loads up to ` +
            `${rounded(holdsQps)} to workload.loads for policies made for them`,
        ]
      : []),
  ];
}

function pointsText(accuracy: number): string {
  const points = Number((100 * accuracy).toPrecision(2));
  return points === 1 ? "one point of accuracy costs" : `${points} points of accuracy cost`;
}

/** Formats `the plans use 2 workers up to 50/s, 3 up to 300/s`. */
function plansText(bundle: Bundle, method: CompilerMethod, levels: readonly Level[]): string {
  const counts = levels.map((level) => {
    return method.plannedWorkers(bundle, level).reduce((sum, one) => sum + one, 0);
  });
  const last = levels.flatMap(({ loadQps }, index) => {
    if (counts[index] === counts[index + 1]) return [];
    return [`${counts[index]} up to ${rounded(loadQps)}/s`];
  });
  return `workers of the plans: ${last.join(", ")}`;
}
