/** The traffic envelope of a level: the highest rate in windows of every length. */
import * as Plot from "@observablehq/plot";
import type { InferlineLevel } from "stratagem-runtime/internal/bundle/schema";
import { trafficView } from "stratagem-runtime/internal/methods/inferline/tell/plan-view";
import { drawFigure } from "../../../report/figure.ts";
import type { Markup } from "../../../report/markup.ts";
import { decimalText } from "../../../report/number-text.ts";

const TIMES = [0.1, 1, 10, 100, 1000, 10_000, 60_000];

/** @param index of the level, for identifiers. */
export function drawEnvelope({ sample, loadQps }: InferlineLevel, index: number): Markup {
  const { envelope, meanQps } = trafficView(sample);
  const shortest = envelope[0]?.windowMs ?? 1;
  const highest = Math.max(meanQps, ...envelope.map(({ qps }) => qps));
  const text = {
    id: `envelope-${index}`,
    title: `Traffic envelope at ${decimalText(loadQps, 2)} requests/s`,
    description:
      `The highest rate is ${decimalText(envelope[0]?.qps ?? 0, 1)} requests/s in ` +
      `${timeText(shortest)} and ${decimalText(envelope.at(-1)?.qps ?? 0, 1)} in a minute; ` +
      `the mean is ${decimalText(meanQps, 1)}.`,
  };
  const from = shortest / 1.4;
  const ticks = TIMES.filter((ms) => ms >= from);
  return drawFigure(text, {
    height: 210,
    x: { type: "log", domain: [from, 80_000], label: "length of the window, logarithmic" },
    y: { domain: [0, highest * 1.1], label: "highest rate, requests/s", ticks: 5, grid: true },
    marks: [
      // A logarithmic axis of its own would leave the text of 60 s out, which is no power of ten.
      Plot.axisX(ticks, { text: ticks.map(timeText) }),
      Plot.ruleY([meanQps], { stroke: "currentColor", strokeDasharray: "2 3", strokeWidth: 1.2 }),
      Plot.text(["mean"], {
        frameAnchor: "left",
        y: () => meanQps,
        dx: 4,
        dy: 8,
        fillOpacity: 0.75,
      }),
      Plot.line(envelope, { x: "windowMs", y: "qps", stroke: "currentColor", strokeWidth: 2 }),
      Plot.dot(envelope, {
        x: "windowMs",
        y: "qps",
        r: 2.6,
        fill: "currentColor",
        title: ({ windowMs, requests, qps }) =>
          `${decimalText(requests)} requests in ${timeText(windowMs)}: ` +
          `${decimalText(qps, 1)} requests/s`,
      }),
    ],
  });
}

function timeText(ms: number): string {
  return ms < 1000 ? `${decimalText(ms, 1)} ms` : `${decimalText(ms / 1000, 1)} s`;
}
