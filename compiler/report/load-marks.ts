/**
 * What the figures over the load have in common: points, dots, and labels that keep clear of each
 * other.
 */
import * as Plot from "@observablehq/plot";
import { decimalText } from "./number-text.ts";

/** A point of a line over the load. */
export interface Point {
  readonly loadQps: number;
  readonly value: number;
}

export const LIMIT_STYLE = { stroke: "var(--limit)", strokeDasharray: "5 3", strokeWidth: 1.3 };

/** Distance that labels keep from each other, as a share of the axis. */
export const LABEL_GAP = 0.065;

/**
 * Lines with more points than that have no dots, and every so many simulated points are left out.
 */
export const MAX_DOTS = 32;

/** Dots at the points of a line, unless they would run into each other. */
export function dots(points: readonly Point[], r: number): Plot.Markish {
  const shown = points.length > MAX_DOTS ? [] : points;
  return Plot.dot(shown, { x: "loadQps", y: "value", r, fill: "currentColor" });
}

/**
 * The last point of each line, named, from the top down and moved apart where they would collide.
 */
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
