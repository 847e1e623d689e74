/**
 * Draws a run second by second: measured and predicted latencies, late requests and stolen time.
 */
import * as Plot from "@observablehq/plot";
import { drawFigure } from "../../report/figure.ts";
import { LIMIT_STYLE } from "../../report/load-marks.ts";
import { html, type Markup } from "../../report/markup.ts";
import { msText, shareText } from "../../report/number-text.ts";
import type { TimelineSecond, TruthPoint } from "../truth-document.ts";

/** Lowest value shown, since the axis is logarithmic. */
const LEAST_MS = 0.1;
const PREDICTED = { stroke: "var(--ink)", strokeDasharray: "4 3", strokeWidth: 1.6 };

type Timed = Pick<TruthPoint, "timeline" | "durationMs">;

/** Draws latencies above, shares of each second below. */
export function drawTimeline(point: Timed, sloMs: number, id: string): Markup {
  return html`${latencies(point, sloMs, `${id}-ms`)}${shares(point, `${id}-share`)}`;
}

function latencies({ timeline, durationMs }: Timed, sloMs: number, id: string): Markup {
  const line = (of: (one: TimelineSecond) => number | null, style: object) =>
    Plot.line(timeline, { x: middle, y: (one: TimelineSecond) => shown(of(one)), ...style });
  const dots = (of: (one: TimelineSecond) => number | null, fill: string) =>
    Plot.dot(timeline, {
      x: middle,
      y: (one: TimelineSecond) => shown(of(one)),
      r: 2.8,
      fill,
      title: wordsOf,
    });
  const measured = (stroke: string) => ({ stroke, strokeWidth: 2 });
  return drawFigure(
    {
      id,
      title: "Latency in each second, measured and predicted",
      description: `${timeline.length} seconds; the SLO is ${msText(sloMs)}`,
    },
    {
      height: 215,
      marginBottom: 20,
      x: { domain: [0, durationMs / 1000], label: null, ticks: 6 },
      y: { type: "log", label: "ms", ticks: 4, tickFormat: "~s", grid: true },
      marks: [
        Plot.ruleY([sloMs], LIMIT_STYLE),
        line(({ predictedP50Ms }) => predictedP50Ms, PREDICTED),
        line(({ predictedP99Ms }) => predictedP99Ms, PREDICTED),
        line(({ p50Ms }) => p50Ms, measured("var(--variant-0)")),
        line(({ p99Ms }) => p99Ms, measured("var(--accent)")),
        dots(({ p50Ms }) => p50Ms, "var(--variant-0)"),
        dots(({ p99Ms }) => p99Ms, "var(--accent)"),
      ],
    },
  );
}

function shares({ timeline, durationMs }: Timed, id: string): Markup {
  const late = ({ late, arrived }: TimelineSecond): number => (arrived === 0 ? 0 : late / arrived);
  const most = Math.max(0.02, ...timeline.flatMap((one) => [late(one), one.stealShare ?? 0]));
  const lateCount = timeline.reduce((sum, one) => sum + one.late, 0);
  return drawFigure(
    {
      id,
      title: "Late requests and processor time lost in each second",
      description: `${lateCount} late or lost in total`,
    },
    {
      height: 105,
      marginTop: 20,
      x: { domain: [0, durationMs / 1000], label: "seconds", ticks: 6 },
      y: { domain: [0, most * 1.05], percent: false, label: "share", ticks: 2, tickFormat: "~%" },
      marks: [
        Plot.rectY(timeline, {
          x1: ({ second }: TimelineSecond) => second + 0.1,
          x2: ({ second }: TimelineSecond) => second + 0.9,
          y1: 0,
          y2: ({ stealShare }: TimelineSecond) => stealShare ?? 0,
          fill: "currentColor",
          fillOpacity: 0.22,
          title: wordsOf,
        }),
        Plot.rectY(timeline, {
          x1: ({ second }: TimelineSecond) => second + 0.3,
          x2: ({ second }: TimelineSecond) => second + 0.7,
          y1: 0,
          y2: late,
          fill: "var(--limit)",
          title: wordsOf,
        }),
        Plot.ruleY([0], { strokeOpacity: 0.5 }),
      ],
    },
  );
}

function middle({ second }: TimelineSecond): number {
  return second + 0.5;
}

function shown(ms: number | null): number {
  return ms === null ? Number.NaN : Math.max(LEAST_MS, ms);
}

function wordsOf(one: TimelineSecond): string {
  const { second, arrived, late, p50Ms, p99Ms, stealShare } = one;
  const textOf = (ms: number | null): string => (ms === null ? "–" : msText(ms));
  const steal = stealShare === null ? "" : `, ${shareText(stealShare)} stolen`;
  return (
    `second ${second}: ${arrived} requests, ${late} late${steal}; ` +
    `p50 ${textOf(p50Ms)}, predicted ${textOf(one.predictedP50Ms)}; ` +
    `p99 ${textOf(p99Ms)}, predicted ${textOf(one.predictedP99Ms)}`
  );
}
