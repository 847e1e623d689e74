/** Figures of the simulated queries: latencies, and the variants that answered them. */
import * as Plot from "@observablehq/plot";
import { drawFigure } from "../../../report/figure.ts";
import {
  dots,
  endLabels,
  LABEL_GAP,
  LIMIT_STYLE,
  percentTick,
} from "../../../report/load-marks.ts";
import type { Markup } from "../../../report/markup.ts";
import { decimalText, ratioText } from "../../../report/number-text.ts";
import { deadlineText } from "./classes.ts";
import { type LoadEvidence, loadAxis } from "./evidence-marks.ts";

/** Latency quantiles of the simulated policy. */
export function drawLatency({ bundle, runs }: LoadEvidence): Markup {
  const { latencyMs: sloMs } = bundle.slo;
  const { classes = [{ name: "", latencyMs: sloMs }] } = bundle.slo;
  const deadlines = classes.map(({ name, latencyMs }) => {
    return { latencyMs, label: name === "" ? "deadline" : `deadline of ${name}` };
  });
  const quantiles = (["p50", "p95", "p99"] as const).map((name) => ({
    name,
    points: runs.flatMap(({ variant, loadQps, result }) =>
      variant === null && result.latencyMs !== null
        ? [{ loadQps, value: result.latencyMs[name] }]
        : [],
    ),
  }));
  const highest = Math.max(sloMs, ...quantiles.flatMap(({ points }) => points.map((p) => p.value)));
  const worst = quantiles[2]?.points.reduce((max, point) => Math.max(max, point.value), 0) ?? 0;
  return drawFigure(
    {
      id: "latency",
      title: "Latency against load",
      description:
        "Simulated median, 95th and 99th percentile of the latency. The 99th is at most " +
        `${decimalText(worst, 1)} ms; the deadline is ${deadlineText(bundle)}.`,
    },
    {
      marginRight: 30,
      x: loadAxis(bundle, []),
      y: { domain: [0, highest * 1.08], label: "latency, ms", ticks: 6, grid: true },
      marks: [
        Plot.ruleY(deadlines, { ...LIMIT_STYLE, y: "latencyMs" }),
        Plot.text(deadlines, {
          frameAnchor: "left",
          y: "latencyMs",
          text: "label",
          dx: 4,
          dy: -7,
          fill: "var(--limit)",
        }),
        ...quantiles.flatMap(({ points }, index) => [
          Plot.line(points, {
            x: "loadQps",
            y: "value",
            stroke: "currentColor",
            strokeWidth: [2.2, 1.4, 1][index] ?? 1,
          }),
          dots(points, 2),
        ]),
        Plot.text(endLabels(quantiles, LABEL_GAP * highest), {
          x: "loadQps",
          y: "value",
          text: "name",
          dx: 6,
          textAnchor: "start",
        }),
      ],
    },
  );
}

/** Share of each variant in the queries served, per level. */
export function drawShares({ bundle, runs, keys }: LoadEvidence): Markup {
  const policyRuns = runs.filter((run) => run.variant === null);
  const bars = policyRuns.flatMap(({ loadQps, result }) => {
    const served = Object.values(result.byVariant).reduce((sum, one) => sum + one.queries, 0);
    return [...keys]
      .sort((a, b) => (a.letter < b.letter ? -1 : 1))
      .map((key) => ({
        loadQps,
        key,
        share: (result.byVariant[key.name]?.queries ?? 0) / Math.max(1, served),
      }))
      .filter(({ share }) => share > 0);
  });
  const loads = bundle.levels.map((level) => level.loadQps);
  const every = Math.ceil(loads.length / 8);
  return drawFigure(
    {
      id: "shares",
      title: "Share of each variant in the queries served",
      description:
        "One bar per level, stacked by variant, the least accurate variant at the bottom.",
    },
    {
      x: {
        type: "band",
        domain: loads,
        label: "load, queries/s →",
        labelAnchor: "right",
        ticks: loads.filter((_, index) => index % every === 0),
        tickFormat: (load: number) => decimalText(load),
        padding: loads.length > 40 ? 0 : 0.12,
      },
      y: { domain: [0, 1], label: "share of queries", tickFormat: percentTick, ticks: 5 },
      marks: [
        Plot.barY(bars, {
          x: "loadQps",
          y: "share",
          fill: (bar) => bar.key.color,
          shapeRendering: "crispEdges",
          title: (bar) => `${bar.key.name}: ${ratioText(bar.share)} at ${bar.loadQps} queries/s`,
        }),
        Plot.text(
          bars,
          Plot.stackY({
            filter: (bar: (typeof bars)[number]) => bar.share > 0.06,
            x: "loadQps",
            y: "share",
            text: (bar: (typeof bars)[number]) => (loads.length > 20 ? "" : bar.key.letter),
            fill: "white",
            stroke: "#0009",
            strokeWidth: 2.5,
            fontWeight: "bold",
          }),
        ),
      ],
    },
  );
}
