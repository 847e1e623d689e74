/** Common parts of figures over the load: the axis, lines with a dot at each level, and limits. */
import * as Plot from "@observablehq/plot";
import type { Level } from "stratagem-runtime/internal/bundle/schema";
import { dots, LIMIT_STYLE, MAX_DOTS, type Point } from "../load-marks.ts";
import { decimalText } from "../number-text.ts";

/** Ratio of loads from which the axis is logarithmic. */
const LOG_RATIO = 10;
/** Width of a figure's frame, and approximate widths of a digit and of the space between labels. */
const FRAME_WIDTH = 318;
const DIGIT_WIDTH = 6.2;
const LABEL_SPACE = 7;

export function pointsOf<L extends Pick<Level, "loadQps">>(
  levels: readonly L[],
  read: (level: L) => number,
): readonly Point[] {
  return levels.map((level) => ({ loadQps: level.loadQps, value: read(level) }));
}

/** Levels of any kind of plan. */
interface LoadLevels {
  readonly levels: readonly Pick<Level, "loadQps" | "capacityQps">[];
}

export function loadAxis({ levels }: LoadLevels): Plot.ScaleOptions {
  const loads = levels.map(({ loadQps }) => loadQps);
  const [lowest, highest] = [Math.min(...loads), Math.max(...loads)];
  const end = endOf(levels);
  if (highest < LOG_RATIO * lowest) {
    const tickFormat = (load: number): string => decimalText(load);
    return { domain: [0, end], label: "load, requests/s", ticks: 5, tickFormat };
  }
  return {
    type: "log",
    domain: [0.8 * lowest, end * 1.08],
    label: "load, requests/s, logarithmic",
    ticks: roundLoads(0.8 * lowest, end * 1.08),
    tickFormat: (load: number) => decimalText(load, 3),
  };
}

/** A little beyond the highest level, and beyond the capacity if that is near. */
function endOf(levels: LoadLevels["levels"]): number {
  const highest = Math.max(...levels.map(({ loadQps }) => loadQps));
  const capacityQps = levels[0]?.capacityQps ?? 0;
  return Math.max(highest * 1.05, capacityQps <= 1.3 * highest ? capacityQps * 1.02 : 0);
}

/** 1, 2 and 5 times the powers of ten, or only these powers if there are many. */
function roundLoads(from: number, to: number): number[] {
  const steps = to / from < 1e3 ? [1, 2, 5] : [1];
  const loads: number[] = [];
  for (let power = Math.floor(Math.log10(from)); power <= Math.log10(to); power++) {
    loads.push(...steps.map((step) => step * 10 ** power));
  }
  return loads.filter((load) => load >= from && load <= to);
}

/** Band axis with a place for each level, for bars. */
export function levelBand(loads: readonly number[], label: string): Plot.ScaleOptions {
  const tickFormat = (load: number): string => decimalText(load, 1);
  const widest = Math.max(...loads.map((load) => tickFormat(load).length));
  const every = Math.ceil((loads.length * (widest * DIGIT_WIDTH + LABEL_SPACE)) / FRAME_WIDTH);
  return {
    type: "band",
    domain: loads,
    label: `${label} →`,
    labelAnchor: "right",
    ticks: loads.filter((_, index) => index % every === 0),
    tickFormat,
    padding: loads.length > 40 ? 0 : 0.12,
  };
}

export function upright(text: string, loadQps: number, frameAnchor: "top" | "bottom", dx: number) {
  return Plot.text([text], {
    x: () => loadQps,
    frameAnchor,
    rotate: -90,
    textAnchor: frameAnchor === "top" ? "end" : "start",
    dx,
    dy: frameAnchor === "top" ? 3 : -4,
    fillOpacity: 0.75,
  });
}

/** Draws a line with a dot at each level. */
export function levelLine(points: readonly Point[], strokeWidth: number): Plot.Markish[] {
  return [
    Plot.line(points, { x: "loadQps", y: "value", stroke: "currentColor", strokeWidth }),
    dots(points, 2.6),
  ];
}

/** Draws a limit for values. */
export function limitMarks(name: string, value: number): Plot.Markish[] {
  return [
    Plot.ruleY([value], LIMIT_STYLE),
    Plot.text([name], {
      frameAnchor: "left",
      y: () => value,
      dx: 4,
      dy: -7,
      fill: "var(--limit)",
    }),
  ];
}

/** Thins dots so that they do not overlap. */
export function thinned(points: readonly Point[]): readonly Point[] {
  const every = Math.ceil(points.length / MAX_DOTS);
  return points.filter((_, index) => index % every === 0);
}
