/** Draws stated and simulated latencies over the load, and the loads beyond the pools' plans. */
import * as Plot from "@observablehq/plot";
import type { InferlineBundle, Level } from "stratagem-runtime/internal/bundle/schema";
import { drawFigure } from "../figure.ts";
import type { Point } from "../load-marks.ts";
import type { Markup } from "../markup.ts";
import { msText } from "../number-text.ts";
import { levelLine, limitMarks, loadAxis, thinned, upright } from "./load-axis.ts";

/** Multiple of the SLO above which latencies are drawn at the edge. */
const TOP_OF_SLO = 1.5;

interface Latencies {
  readonly stated: readonly Point[];
  readonly simulated: readonly Point[];
  /** Label of the axis. */
  readonly label: string;
  readonly title: string;
  /** The SLO is appended to it. */
  readonly description: string;
}

/**
 * Draws stated values as a line, simulated ones as circles, and values far above the SLO at the
 * edge.
 */
export function drawLatencies(
  bundle: Pick<InferlineBundle, "slo"> & Parameters<typeof beyondMarks>[0],
  { stated, simulated, label, title, description }: Latencies,
): Markup {
  const { latencyMs: sloMs } = bundle.slo;
  const all = [...stated, ...simulated];
  const top = Math.min(Math.max(sloMs, ...all.map(({ value }) => value)), TOP_OF_SLO * sloMs);
  const beyond = all.filter(({ value }) => value > top);
  const text = {
    id: "latency",
    title,
    description: `${description}; the SLO is ${msText(sloMs)}.`,
  };
  return drawFigure(text, {
    x: loadAxis(bundle),
    y: { domain: [0, top * 1.08], label, ticks: 6, grid: true },
    marks: [
      ...beyondMarks(bundle, "bottom"),
      ...limitMarks("SLO", sloMs),
      ...levelLine(within(stated, top), 2.2),
      Plot.dot(thinned(within(simulated, top)), {
        x: "loadQps",
        y: "value",
        r: 5,
        stroke: "currentColor",
        strokeWidth: 1.1,
      }),
      Plot.dot(thinned(beyond), {
        x: "loadQps",
        y: () => top,
        symbol: "triangle",
        r: 4.5,
        fill: "var(--limit)",
        title: ({ value }: Point) => msText(value),
      }),
    ],
  });
}

export function mostMs(points: readonly Point[]): string {
  return msText(Math.max(...points.map(({ value }) => value)));
}

function within(points: readonly Point[], top: number): Point[] {
  return points.map((point) => (point.value <= top ? point : { ...point, value: Number.NaN }));
}

/** Marks the loads that the pools have no plan for. */
export function beyondMarks(
  bundle: {
    readonly levels: readonly Pick<Level, "loadQps" | "feasible" | "capacityQps">[];
  },
  frameAnchor: "top" | "bottom",
): Plot.Markish[] {
  const { levels } = bundle;
  const lastFeasible = levels.findLast(({ feasible }) => feasible)?.loadQps ?? 0;
  const first = levels.find(({ loadQps, feasible }) => !feasible && loadQps > lastFeasible);
  if (first === undefined) return [];
  const fromQps = Math.max(first.capacityQps, lastFeasible);
  const [start = 0, end = 0] = [...(loadAxis(bundle).domain ?? [])] as number[];
  const at = Math.max(start, fromQps);
  return [
    Plot.rect([at], {
      x1: () => at,
      x2: () => end,
      fill: "var(--limit)",
      fillOpacity: 0.09,
    }),
    ...(at > start ? [Plot.ruleX([at], { stroke: "currentColor", strokeOpacity: 0.5 })] : []),
    upright("beyond the pools", at, frameAnchor, 9),
  ];
}
