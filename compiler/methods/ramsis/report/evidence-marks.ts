/** Data of the figures of tables over the load, and their axis, marks and letters. */
import * as Plot from "@observablehq/plot";
import type { RamsisBundle } from "stratagem-runtime/internal/bundle/schema";
import type { Point } from "../../../report/load-marks.ts";
import { decimalText } from "../../../report/number-text.ts";
import type { VariantKey } from "../../../report/palette.ts";
import type { SimulatedRun } from "./simulated-levels.ts";
import type { SimulationPoint } from "./simulation-file.ts";

/** Data of all figures over the load. */
export interface LoadEvidence {
  readonly bundle: RamsisBundle;
  readonly keys: readonly VariantKey[];
  readonly runs: readonly SimulatedRun[];
  readonly simulations: readonly SimulationPoint[];
}

/** The letter of a variant at a point. */
export interface Label extends Point {
  readonly key: VariantKey;
}

/** A line over the load of one variant alone. */
export interface VariantLine {
  readonly key: VariantKey;
  readonly points: readonly Point[];
}

/** Symbols of the points of the files, in their order: for Plot, and for the key. */
const SIMULATION_SYMBOLS = [
  { symbol: "diamond", glyph: "◆" },
  { symbol: "triangle", glyph: "▲" },
  { symbol: "square", glyph: "■" },
  { symbol: "star", glyph: "★" },
] as const;

export function loadAxis(
  { levels }: RamsisBundle,
  simulations: readonly SimulationPoint[],
): Plot.ScaleOptions {
  const loads = [...levels, ...simulations].map((one) => one.loadQps);
  const highest = Math.max(...loads);
  return { domain: [0, 1.05 * highest], label: "load, queries/s", ticks: 5, tickFormat: loadTick };
}

function symbolOf(index: number): (typeof SIMULATION_SYMBOLS)[number] {
  return SIMULATION_SYMBOLS[index % SIMULATION_SYMBOLS.length] ?? SIMULATION_SYMBOLS[0];
}

/**
 * The symbol for the points of a file in the figures.
 * @param index of the file.
 */
export function simulationGlyph(index: number): string {
  return symbolOf(index).glyph;
}

export function simulationMarks(
  simulations: readonly SimulationPoint[],
  read: (one: SimulationPoint) => number | null,
): Plot.Markish[] {
  return simulations.map((one, index) =>
    Plot.dot([one], {
      x: "loadQps",
      y: () => read(one) ?? Number.NaN,
      symbol: symbolOf(index).symbol,
      r: 5,
      fill: "var(--accent)",
      stroke: "var(--page)",
      title: () => one.label,
    }),
  );
}

/** Letters on a disc of their variant's colour, as in the key of the variants. */
export function letterMarks(labels: readonly Label[], dx: number): Plot.Markish[] {
  return [
    Plot.dot(labels, {
      x: "loadQps",
      y: "value",
      dx,
      r: 6.5,
      fill: (label) => label.key.color,
      stroke: "var(--page)",
      strokeWidth: 1,
    }),
    Plot.text(labels, {
      x: "loadQps",
      y: "value",
      dx,
      text: (label) => label.key.letter,
      fill: "white",
      stroke: "#0009",
      strokeWidth: 2,
      fontWeight: "bold",
      fontSize: 10,
    }),
  ];
}

export function baselineLine(key: VariantKey, points: readonly Point[]): Plot.Markish {
  return Plot.line(points, {
    x: "loadQps",
    y: "value",
    stroke: key.color,
    strokeWidth: 1.6,
    clip: true,
    marker: points.length === 1 ? "dot" : "none",
  });
}

function loadTick(load: number): string {
  return decimalText(load);
}
