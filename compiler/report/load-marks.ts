/** Common parts of figures over the load: points, dots, and labels that do not overlap. */
import * as Plot from "@observablehq/plot";
import { decimalText } from "./number-text.ts";

/** Point of a line over the load. */
export interface Point {
  readonly loadQps: number;
  readonly value: number;
}

export const LIMIT_STYLE = { stroke: "var(--limit)", strokeDasharray: "5 3", strokeWidth: 1.3 };

/** Minimum distance of labels, as a share of the axis. */
export const LABEL_GAP = 0.065;

/** Most points of a line with dots; simulated points are thinned to this number. */
export const MAX_DOTS = 32;

/** Dots at the points of a line, unless they would overlap. */
export function dots(points: readonly Point[], r: number): Plot.Markish {
  const shown = points.length > MAX_DOTS ? [] : points;
  return Plot.dot(shown, { x: "loadQps", y: "value", r, fill: "currentColor" });
}

/** Names of the lines at their last points, moved apart if they would overlap. */
export function endLabels(
  lines: readonly { readonly name: string; readonly points: readonly Point[] }[],
  gap: number,
): (Point & { readonly name: string })[] {
  let below = Number.NEGATIVE_INFINITY;
  return lines.flatMap(({ name, points }) => {
    const last = points.at(-1);
    if (last === undefined) return [];
    below = Math.max(last.value, below + gap);
    return [{ name, loadQps: last.loadQps, value: below }];
  });
}

export function percentTick(ratio: number): string {
  return `${decimalText(100 * ratio, 2)}%`;
}
