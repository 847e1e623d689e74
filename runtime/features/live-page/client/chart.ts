/** Line charts over the last five minutes. */
import { drawn } from "./dom.ts";
import { FRAME, HEIGHT, WIDTH } from "./figure.ts";
import { KEPT_MS } from "./history.ts";
import { ticksTo } from "./numbers.ts";

export interface Point {
  readonly atMs: number;
  /** Null interrupts the line. */
  readonly value: number | null;
}

export interface Line {
  readonly style: string;
  readonly points: readonly Point[];
}

/** Range of the horizontal axis. */
export interface Time {
  readonly nowMs: number;
  readonly spanMs: number;
}

export interface Scale extends Time {
  readonly least: number;
  readonly most: number;
}

/** Gap between snapshots that interrupts a line. */
const MAX_GAP_MS = 5000;
/**
 * Possible spans of the axis, which grows during the first five minutes, with their tick labels.
 */
const SPANS = [
  { spanMs: 60_000, everyMs: 20_000, unitMs: 1000, unit: "s" },
  { spanMs: 120_000, everyMs: 30_000, unitMs: 1000, unit: "s" },
  { spanMs: KEPT_MS, everyMs: 60_000, unitMs: 60_000, unit: "min" },
];

/** @param moments in chronological order. */
export function timeOf(moments: readonly { readonly atMs: number }[]): Time {
  const nowMs = moments.at(-1)?.atMs ?? 0;
  const ageMs = nowMs - (moments[0]?.atMs ?? nowMs);
  return { nowMs, spanMs: SPANS.find(({ spanMs }) => ageMs <= spanMs)?.spanMs ?? KEPT_MS };
}

export function xAt(atMs: number, { nowMs, spanMs }: Time): number {
  const inner = WIDTH - FRAME.left - FRAME.right;
  return FRAME.left + inner * (1 - (nowMs - atMs) / spanMs);
}

export function yAt(value: number, { least, most }: Scale): number {
  const inner = HEIGHT - FRAME.top - FRAME.bottom;
  const share = (value - least) / (most - least || 1);
  return HEIGHT - FRAME.bottom - inner * Math.max(0, Math.min(1, share));
}

/** Axes: round values at the left, times at the bottom. */
export function axes(scale: Scale, textOf: (value: number) => string): SVGElement[] {
  const right = WIDTH - FRAME.right;
  const values = ticksTo(scale.least, scale.most).flatMap((value) => {
    const y = yAt(value, scale);
    return [
      drawn("path", { class: "grid", d: `M${FRAME.left} ${y.toFixed(1)}H${right}` }),
      label(FRAME.left - 6, y + 4, textOf(value), "end"),
    ];
  });
  return [...values, ...times(scale)];
}

export function times(time: Time): SVGElement[] {
  const axis = SPANS.find(({ spanMs }) => spanMs === time.spanMs);
  const { everyMs, unitMs, unit } = axis ?? { everyMs: KEPT_MS, unitMs: 1, unit: "ms" };
  const marks: SVGElement[] = [];
  for (let agoMs = 0; agoMs <= time.spanMs; agoMs += everyMs) {
    const x = xAt(time.nowMs - agoMs, time);
    const text = agoMs === 0 ? "now" : `−${agoMs / unitMs} ${unit}`;
    const top = HEIGHT - FRAME.bottom;
    marks.push(drawn("path", { class: "tick", d: `M${x.toFixed(1)} ${top}v4` }));
    marks.push(label(x, HEIGHT - 8, text, agoMs === 0 ? "end" : "middle"));
  }
  return marks;
}

export function lines(all: readonly Line[], scale: Scale): SVGElement[] {
  return all.map(({ style, points }) =>
    drawn("path", { class: `line ${style}`, d: pathOf(points, scale) }),
  );
}

/** Horizontal lines at constant values, with an optional label at the left. */
export function rules(
  values: readonly { readonly value: number; readonly style: string; readonly text?: string }[],
  scale: Scale,
): SVGElement[] {
  const right = WIDTH - FRAME.right;
  return values.flatMap(({ value, style, text = "" }) => {
    const y = yAt(value, scale);
    const line = drawn("path", {
      class: `line ${style}`,
      d: `M${FRAME.left} ${y.toFixed(1)}H${right}`,
    });
    return text === "" ? [line] : [line, label(FRAME.left + 4, y - 3, text, "start")];
  });
}

export function label(x: number, y: number, text: string, anchor: string): SVGElement {
  const place = { x: x.toFixed(1), y: y.toFixed(1), "text-anchor": anchor };
  return drawn("text", place, text);
}

/** Draws a line of one point as a visible dot. */
function pathOf(points: readonly Point[], scale: Scale): string {
  let path = "";
  let lastMs = Number.NEGATIVE_INFINITY;
  for (const { atMs, value } of points) {
    if (value === null) {
      lastMs = Number.NEGATIVE_INFINITY;
      continue;
    }
    const place = `${xAt(atMs, scale).toFixed(1)} ${yAt(value, scale).toFixed(1)}`;
    path += atMs - lastMs > MAX_GAP_MS ? `M${place}h.1` : `L${place}`;
    lastMs = atMs;
  }
  return path;
}
