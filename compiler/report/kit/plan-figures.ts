/** Common marks of plan figures over the load: circles, axes of rates, stacked bars. */
import * as Plot from "@observablehq/plot";
import type { Point } from "../load-marks.ts";
import { decimalText } from "../number-text.ts";
import { levelBand, thinned } from "./load-axis.ts";
import type { PipelineVariantKey } from "./variant-keys.ts";
import { MAX_LETTERED, wholeAxis } from "./whole-axis.ts";

const RING = { x: "loadQps", y: "value", stroke: "currentColor", strokeWidth: 1.1 };

/** Draws simulated values. */
export function rings(points: readonly Point[], style: Plot.DotOptions = {}): Plot.Markish {
  return Plot.dot(thinned(points), { ...RING, r: 5, ...style });
}

/** Logarithmic axis of rates whose lowest line also stands for zero. */
export function rateScale(floor: number, label: string): Plot.PlotOptions {
  const decades = Math.round(-Math.log10(floor));
  return {
    marginLeft: 66,
    y: {
      type: "log",
      domain: [floor, 1],
      label,
      ticks: Array.from({ length: decades + 1 }, (_, power) => 10 ** -power),
      tickFormat: (rate: number) =>
        `${rate <= floor * 1.5 ? "≤" : ""}${decimalText(100 * rate, 4)}%`,
      grid: true,
    },
  };
}

/** Part of the bar of a level. */
export interface LevelBar {
  readonly loadQps: number;
  readonly key: PipelineVariantKey;
  readonly value: number;
  readonly feasible: boolean;
  readonly title: string;
}

/** Draws a bar per level, stacked in the order of the parts; narrow ones have no letters. */
export function stackedBars(
  levels: readonly { readonly loadQps: number }[],
  bars: readonly LevelBar[],
  most: number,
  label: string,
): { readonly isLettered: boolean; readonly options: Plot.PlotOptions; marks: Plot.Markish[] } {
  const loads = levels.map(({ loadQps }) => loadQps);
  const isLettered = loads.length <= MAX_LETTERED;
  const options = {
    x: levelBand(loads, "load, requests/s"),
    y: { domain: [0, most * 1.09], label, ...wholeAxis(0, most) },
  };
  const marks = [
    Plot.barY(bars, {
      x: "loadQps",
      y: "value",
      fill: (bar: LevelBar) => bar.key.color,
      fillOpacity: (bar: LevelBar) => (bar.feasible ? 1 : 0.5),
      stroke: "var(--page)",
      strokeWidth: isLettered ? 0.8 : 0,
      title: (bar: LevelBar) => bar.title,
    }),
    Plot.text(
      isLettered ? bars : [],
      Plot.stackY({
        x: "loadQps",
        y: "value",
        text: (bar: LevelBar) => (bar.value > 0.045 * most ? bar.key.letter : ""),
        fill: "white",
        stroke: "#0009",
        strokeWidth: 2.5,
        fontWeight: "bold",
      }),
    ),
  ];
  return { isLettered, options, marks };
}

/** Formats the range of some counts. */
export function rangeOf(counts: readonly number[]): string {
  const [least, most] = [Math.min(...counts), Math.max(...counts)];
  return least === most ? String(most) : `${least} to ${most}`;
}
