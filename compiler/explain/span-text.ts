/** Formats an explained span of time as text for a terminal. */
import {
  counted,
  explainedTable,
  percent,
  rounded,
  short,
} from "stratagem-runtime/internal/describe/text";
import { type LatencySummary, percentileText } from "../simulate/latency-sample.ts";
import { longestStep, type Verdict, verdictOf } from "./explained-request.ts";
import { type ExplainedSpan, type SecondSummary, worstSecond } from "./explained-span.ts";
import type { LoggedRequest } from "./logged-request.ts";
import { SLOW_FACTOR } from "./reasons.ts";
import { item } from "./request-text.ts";
import { labelOf, latencyMs, STEPS, stepsOf } from "./steps.ts";

/**
 * Arrivals relative to the level's load, and share of slow batches, above which they are causes.
 */
const BURST = 1.2;
const SLOW_SHARE = 0.2;
/** Most seconds in the table; the worst are shown. */
const MAX_SECONDS = 10;

export function spanText(summary: ExplainedSpan, sloMs: number): string {
  const { span, requests, verdicts, latency, seconds, slowest } = summary;
  const whole = `${timeText(span.fromMs)} to ${timeText(span.toMs)}`;
  if (requests === 0) return `${whole}: no inference requests`;
  const seconds1 = (span.toMs - span.fromMs) / 1000;
  const lines = [
    `${whole}: ${counted(requests, "request")}, ${rounded(requests / seconds1)} per second; ` +
      verdictsText(verdicts, requests),
    ...(latency === null ? [] : ["", stepTable(summary, latency)]),
    "",
    "events",
    ...happenings(summary).map(item),
    "",
    secondTable(seconds),
    "",
    "slowest requests",
    ...slowest.map((request) => item(slowText(request, sloMs))),
  ];
  return lines.join("\n");
}

function verdictsText(verdicts: ExplainedSpan["verdicts"], requests: number): string {
  const order: readonly Verdict[] = ["late", "dropped", "failed", "gone"];
  const counts = order
    .filter((verdict) => verdicts[verdict] > 0)
    .map((verdict) => `${verdicts[verdict]} ${verdict} (${percent(verdicts[verdict] / requests)})`);
  return counts.length === 0 ? "all in time" : counts.join(", ");
}

function stepTable({ steps }: ExplainedSpan, latency: LatencySummary): string {
  const row = (name: string, summary: LatencySummary) => {
    const { mean, p50, p95, p99, max, intervals } = summary;
    const p99Text = percentileText(p99, intervals?.p99, rounded);
    return [name, ...[mean, p50, p95].map(rounded), p99Text, rounded(max)];
  };
  const rows = STEPS.flatMap((name) => {
    const summary = steps[name];
    return summary === null || summary.max < 0.001 ? [] : [row(labelOf(name), summary)];
  });
  const head = ["step of answered requests", "mean ms", "p50", "p95", "p99", "longest"];
  return explainedTable([head, ...rows, row("total", latency)]);
}

/** Returns sentences about the causes, the worst second first. */
export function happenings({ seconds, stillness, batches }: ExplainedSpan): string[] {
  const worst = worstSecond(seconds);
  const sentences = worst === undefined ? [] : [worstText(worst)];
  const bursts = seconds.filter(isBurst);
  if (bursts.length > 0) {
    const most = bursts.reduce((a, b) => (b.rows > a.rows ? b : a));
    const what = `arrivals exceeded the load of the level in ${counted(bursts.length, "second")}`;
    const at = `${most.rows} queries at ${clockText(most.fromMs)}`;
    sentences.push(`${what}; at most ${at}, with a level for ${short(most.levelQps ?? 0)}/s`);
  }
  if (batches.slow > 0) {
    const share = percent(batches.slow / batches.count);
    const of = `${batches.slow} of ${counted(batches.count, "batch", "batches")}`;
    sentences.push(`${of} (${share}) took more than ${SLOW_FACTOR}x their profiled median`);
  }
  if (batches.lost > 0) {
    sentences.push(`${counted(batches.lost, "batch", "batches")} lost a worker`);
  }
  sentences.push(...levelChanges(seconds));
  for (const { fromMs, ms, requests } of stillness) {
    const what = `nothing began or ended for ${ms} ms from ${clockText(fromMs)}`;
    sentences.push(`${what}, with ${counted(requests, "request")} in the server`);
  }
  return sentences;
}

function isBurst({ rows, levelQps }: SecondSummary): boolean {
  return levelQps !== null && rows > BURST * levelQps;
}

function worstText(worst: SecondSummary): string {
  const { fromMs, requests, rows, late, dropped, longestMs, batches, slow, levelQps } = worst;
  const what = `worst second ${clockText(fromMs)}: of ${counted(requests, "request")} `;
  const bad = `${late} late and ${dropped} dropped, the longest ${rounded(longestMs)} ms`;
  const causes = [
    ...(isBurst(worst)
      ? [`${rows} queries arrived, the level is for ${short(levelQps ?? 0)}/s`]
      : []),
    ...(slow > SLOW_SHARE * batches
      ? [`${slow} of ${counted(batches, "batch", "batches")} were slower than profiled`]
      : []),
  ];
  return `${what}${bad}${causes.length === 0 ? "" : `; ${causes.join("; ")}`}`;
}

function levelChanges(seconds: readonly SecondSummary[]): string[] {
  const levels = seconds.filter(({ levelQps }) => levelQps !== null);
  const changes = levels.filter((second, index) => {
    return index > 0 && second.levelQps !== levels[index - 1]?.levelQps;
  });
  if (changes.length === 0) return [];
  const shown = changes.slice(0, 5).map(({ fromMs, levelQps }) => {
    return `to ${short(levelQps ?? 0)} qps at ${clockText(fromMs)}`;
  });
  const more = changes.length > shown.length ? `, and ${changes.length - shown.length} more` : "";
  return [`the most used level changed: ${shown.join(", ")}${more}`];
}

function secondTable(seconds: readonly SecondSummary[]): string {
  const worst = [...seconds]
    .sort((a, b) => b.late + b.dropped - a.late - a.dropped || b.longestMs - a.longestMs)
    .slice(0, MAX_SECONDS)
    .sort((a, b) => a.fromMs - b.fromMs);
  return explainedTable([
    ["second", "arrived", "level", "late", "dropped", "mean ms", "longest", "batches", "slow"],
    ...worst.map((one) => [
      clockText(one.fromMs),
      ...[String(one.rows), one.levelQps === null ? "-" : short(one.levelQps)],
      ...[String(one.late), String(one.dropped)],
      ...[rounded(one.meanMs), rounded(one.longestMs), String(one.batches), String(one.slow)],
    ]),
  ]);
}

/** Returns a sentence: the outcome and the longest step. */
export function slowText(request: LoggedRequest, sloMs: number): string {
  const steps = stepsOf(request);
  const longest = longestStep(steps);
  const took = latencyMs(request);
  const verdict = verdictOf(request, request.sloMs ?? sloMs);
  const by = request.variant === null ? "" : ` by ${request.variant}`;
  return (
    `${request.id}, ${clockText(request.timeMs)}: ${verdict}${by}, ${rounded(took)} ms; ` +
    `longest step ${labelOf(longest)}, ${rounded(steps[longest])} ms`
  );
}

function timeText(ms: number): string {
  return new Date(ms).toISOString().slice(0, 19).concat("Z");
}

function clockText(ms: number): string {
  return new Date(ms).toISOString().slice(11, 23);
}
