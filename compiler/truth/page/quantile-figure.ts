/** Draws percentiles of measured against predicted latency. */
import * as Plot from "@observablehq/plot";
import { drawFigure } from "../../report/figure.ts";
import { LIMIT_STYLE } from "../../report/load-marks.ts";
import type { Markup } from "../../report/markup.ts";
import { msText } from "../../report/number-text.ts";
import { LATENCY_MS, LATENCY_SHARE } from "../checks.ts";
import type { TruthPoint } from "../truth-document.ts";

interface Percentile {
  readonly percent: number;
  readonly predictedMs: number;
  readonly measuredMs: number;
}

/** Lowest value shown, since the axes are logarithmic. */
const LEAST_MS = 0.1;
const MARKED = [50, 99];
/** Points along the edges of the band, which are curved where the absolute tolerance applies. */
const EDGE_POINTS = 40;

/** The diagonal marks equality, the band the tolerance. */
export function drawQuantiles(point: TruthPoint, sloMs: number, id: string): Markup {
  const all = percentilesOf(point);
  const [from, to] = domainOf(all, sloMs);
  const marked = all.filter(({ percent }) => MARKED.includes(percent));
  const axis = { type: "log", domain: [from, to], ticks: 4, tickFormat: "~s", grid: true } as const;
  return drawFigure(
    {
      id,
      title: "Percentiles of the latency, predicted and measured",
      description: marked.map(wordsOf).join("; "),
    },
    {
      height: 300,
      x: { ...axis, label: "predicted, ms" },
      y: { ...axis, label: "measured, ms" },
      marks: [
        Plot.areaY(bandOf(from, to), {
          x: "at",
          y1: "low",
          y2: "high",
          fill: "currentColor",
          fillOpacity: 0.09,
        }),
        Plot.line([from, to], { x: (at) => at, y: (at) => at, strokeOpacity: 0.5 }),
        Plot.ruleX([sloMs], LIMIT_STYLE),
        Plot.ruleY([sloMs], LIMIT_STYLE),
        Plot.text(["SLO"], {
          x: () => sloMs,
          y: () => from,
          text: (text) => text,
          fill: "var(--limit)",
          dx: -4,
          dy: -8,
          textAnchor: "end",
        }),
        Plot.dot(all, { ...ON_AXES, r: 2.2, fill: "var(--variant-0)", title: wordsOf }),
        Plot.dot(marked, { ...ON_AXES, r: 5, stroke: "var(--accent)", strokeWidth: 2 }),
        ...marked.map((one, index) => {
          const side = index === 0 ? 1 : -1;
          return Plot.text([one], {
            ...ON_AXES,
            text: ({ percent }: Percentile) => `p${percent}`,
            dx: 9 * side,
            dy: 10 * side,
            textAnchor: index === 0 ? "start" : "end",
            fontWeight: "bold",
            fill: "var(--accent)",
          });
        }),
      ],
    },
  );
}

const ON_AXES = { x: "predictedMs", y: "measuredMs" } as const;

function percentilesOf({ predicted, measured }: TruthPoint): Percentile[] {
  return predicted.quantilesMs.flatMap((predictedMs, percent) => {
    const measuredMs = measured.quantilesMs[percent];
    if (measuredMs === undefined) return [];
    const shown = (ms: number) => Math.max(LEAST_MS, ms);
    return [{ percent, predictedMs: shown(predictedMs), measuredMs: shown(measuredMs) }];
  });
}

/** Returns the common domain of both axes. */
function domainOf(all: readonly Percentile[], sloMs: number): [number, number] {
  const values = all.flatMap(({ predictedMs, measuredMs }) => [predictedMs, measuredMs]);
  return [Math.min(...values, sloMs) / 1.3, Math.max(...values, sloMs) * 1.3];
}

function bandOf(from: number, to: number) {
  return Array.from({ length: EDGE_POINTS + 1 }, (_, index) => {
    const at = from * Math.exp((Math.log(to / from) * index) / EDGE_POINTS);
    const tolerance = Math.max(LATENCY_SHARE * at, LATENCY_MS);
    return { at, low: Math.max(from, at - tolerance), high: Math.min(to, at + tolerance) };
  });
}

function wordsOf({ percent, predictedMs, measuredMs }: Percentile): string {
  return `p${percent}: predicted ${msText(predictedMs)}, measured ${msText(measuredMs)}`;
}
