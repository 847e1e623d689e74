/** Lines over the last five minutes. */
import { drawn } from "./dom.ts";
import { FRAME, HEIGHT, WIDTH } from "./figure.ts";
import { KEPT_MS } from "./history.ts";
import { ticksTo } from "./numbers.ts";

export interface Point {
  readonly atMs: number;
  /** Null breaks the line. */
  readonly value: number | null;
}

export interface Line {
  readonly style: string;
  readonly points: readonly Point[];
}

export interface Scale {
  readonly nowMs: number;
  readonly least: number;
  readonly most: number;
}

/** Seconds without a snapshot that break a line. */
const MAX_GAP_MS = 5000;
const MINUTES = [5, 4, 3, 2, 1, 0];

export function xAt(atMs: number, nowMs: number): number {
  const inner = WIDTH - FRAME.left - FRAME.right;
  return FRAME.left + inner * (1 - (nowMs - atMs) / KEPT_MS);
}

export function yAt(value: number, { least, most }: Scale): number {
  const inner = HEIGHT - FRAME.top - FRAME.bottom;
  const share = (value - least) / (most - least || 1);
  return HEIGHT - FRAME.bottom - inner * Math.max(0, Math.min(1, share));
}

/** The axes: round values at the left, minutes below. */
export function axes(scale: Scale, textOf: (value: number) => string): SVGElement[] {
  const right = WIDTH - FRAME.right;
  const values = ticksTo(scale.least, scale.most).flatMap((value) => {
    const y = yAt(value, scale);
    return [
      drawn("path", { class: "grid", d: `M${FRAME.left} ${y.toFixed(1)}H${right}` }),
      label(FRAME.left - 6, y + 4, textOf(value), "end"),
    ];
  });
  return [...values, ...minutes()];
}

export function minutes(height = HEIGHT): SVGElement[] {
  return MINUTES.flatMap((minute) => {
    const x = xAt(-60_000 * minute, 0);
    const text = minute === 0 ? "now" : minute === 5 ? "5 min ago" : String(minute);
    const anchor = minute === 0 ? "end" : minute === 5 ? "start" : "middle";
    const top = height - FRAME.bottom;
    return [
      drawn("path", { class: "tick", d: `M${x.toFixed(1)} ${top}v4` }),
      label(x, height - 8, text, anchor),
    ];
  });
}

export function lines(all: readonly Line[], scale: Scale): SVGElement[] {
  return all.map(({ style, points }) =>
    drawn("path", { class: `line ${style}`, d: pathOf(points, scale) }),
  );
}

/** Values that are the same at all times, with a word at the right end. */
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

/** A line with one point is a dot that can be seen. */
function pathOf(points: readonly Point[], scale: Scale): string {
  let path = "";
  let lastMs = Number.NEGATIVE_INFINITY;
  for (const { atMs, value } of points) {
    if (value === null) {
      lastMs = Number.NEGATIVE_INFINITY;
      continue;
    }
    const place = `${xAt(atMs, scale.nowMs).toFixed(1)} ${yAt(value, scale).toFixed(1)}`;
    path += atMs - lastMs > MAX_GAP_MS ? `M${place}h.1` : `L${place}`;
    lastMs = atMs;
  }
  return path;
}
