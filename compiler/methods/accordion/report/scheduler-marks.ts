/**
 * Appearance of each scheduler in the figures over the load and in their key: a dash pattern and a
 * symbol, without colour.
 */
import * as Plot from "@observablehq/plot";
import type { SchedulerName } from "stratagem-runtime/internal/bundle/schema";
import { MAX_DOTS, type Point } from "../../../report/load-marks.ts";
import { Markup } from "../../../report/markup.ts";

interface SchedulerStyle {
  readonly dash: string;
  readonly symbol: "circle" | "square" | "triangle" | "diamond" | "times";
  /** Path of the symbol, in a box of 26 by 12. */
  readonly path: string;
}

const STYLES: Readonly<Record<SchedulerName, SchedulerStyle>> = {
  accordion: {
    dash: "none",
    symbol: "circle",
    path: "M9.5 6a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0-7 0Z",
  },
  "slo-conforming": { dash: "7 3", symbol: "square", path: "M9.5 2.5h7v7h-7Z" },
  fastest: { dash: "2 3", symbol: "triangle", path: "M13 1.5l4.5 8h-9Z" },
  bbs: { dash: "7 3 2 3", symbol: "diamond", path: "M13 1l4.5 5l-4.5 5l-4.5-5Z" },
  "one-stage": { dash: "1 2", symbol: "times", path: "M9.5 2.5l7 7M16.5 2.5l-7 7" },
};

/** Line widths of the bundle's own scheduler, and of the others. */
const WIDTHS = { own: 2.4, other: 1.2 } as const;

/** A line over the load with the symbols of its scheduler. */
export function schedulerLine(
  scheduler: SchedulerName,
  points: readonly Point[],
  isOwn: boolean,
): Plot.Markish[] {
  const { dash, symbol } = STYLES[scheduler];
  const stroke = isOwn ? "currentColor" : "var(--soft)";
  const shown = points.length > MAX_DOTS ? [] : points;
  return [
    Plot.line(points, {
      x: "loadQps",
      y: "value",
      stroke,
      strokeWidth: isOwn ? WIDTHS.own : WIDTHS.other,
      strokeDasharray: dash,
    }),
    Plot.dot(shown, {
      x: "loadQps",
      y: "value",
      symbol,
      r: isOwn ? 3.4 : 4,
      stroke,
      strokeWidth: 1.3,
      fill: isOwn && symbol !== "times" ? "currentColor" : "none",
    }),
  ];
}

/** The line and the symbol, for a key. */
export function schedulerSample(scheduler: SchedulerName, isOwn = false): Markup {
  const { dash, path } = STYLES[scheduler];
  const width = isOwn ? WIDTHS.own : WIDTHS.other;
  const fill = isOwn && scheduler !== "one-stage" ? "currentColor" : "none";
  return new Markup(
    `<svg class="sample" viewBox="0 0 26 12" aria-hidden="true"><path d="M0 6h26" ` +
      `stroke="currentColor" stroke-width="${width}" stroke-dasharray="${dash}"/><path ` +
      `d="${path}" fill="${fill}" stroke="currentColor" stroke-width="1.3"/></svg>`,
  );
}
