/** Figures of promises that requirements and tolerances name, and the form of amounts. */
import { readQuantity } from "../document/quantity.ts";

/** Unit of a figure: 0..1, ms, money per hour, a number, or bytes. */
export type FigureUnit = "ratio" | "ms" | "cost" | "count" | "bytes";

interface FigureKind {
  readonly unit: FigureUnit;
  /** Direction of improvement. */
  readonly better: "less" | "more";
}

/** Figures that a level promises, for all methods. */
export const LEVEL_FIGURES = {
  violations: { unit: "ratio", better: "less" },
  accuracy: { unit: "ratio", better: "more" },
  accuracyPerQuery: { unit: "ratio", better: "more" },
  p50: { unit: "ms", better: "less" },
  p95: { unit: "ms", better: "less" },
  p99: { unit: "ms", better: "less" },
  cost: { unit: "cost", better: "less" },
  workers: { unit: "count", better: "less" },
  cores: { unit: "count", better: "less" },
  headroom: { unit: "count", better: "more" },
} as const satisfies Readonly<Record<string, FigureKind>>;

/** Figures of a whole bundle: its size, and the objective that it was compiled for. */
const BUNDLE_FIGURES = {
  bytes: { unit: "bytes", better: "less" },
  slo: { unit: "ms", better: "less" },
  ceiling: { unit: "ratio", better: "less" },
} as const satisfies Readonly<Record<string, FigureKind>>;

export type LevelFigure = keyof typeof LEVEL_FIGURES;
type BundleFigure = keyof typeof BUNDLE_FIGURES;
export type Figure = LevelFigure | BundleFigure;

export const FIGURES: Readonly<Record<Figure, FigureKind>> = {
  ...LEVEL_FIGURES,
  ...BUNDLE_FIGURES,
};

export function isLevelFigure(name: string): name is LevelFigure {
  return Object.hasOwn(LEVEL_FIGURES, name);
}

export function isFigure(name: string): name is Figure {
  return Object.hasOwn(FIGURES, name);
}

/** Form of amounts of a unit, for messages. */
export const AMOUNT_FORMS: Readonly<Record<FigureUnit, string>> = {
  ratio: "a ratio between 0 and 1 such as 0.97 or 97%",
  ms: "a time with its unit such as 40ms",
  cost: "a cost an hour such as 3/h",
  count: "a number of at least 0",
  bytes: "bytes such as 2MiB",
};

const BYTES = new Map([
  ["", 1],
  ["B", 1],
  ["kB", 1000],
  ["MB", 1_000_000],
  ["GB", 1_000_000_000],
  ["KiB", 1024],
  ["MiB", 1024 * 1024],
  ["GiB", 1024 * 1024 * 1024],
]);
const WITH_LETTERS = /^(\d{1,15}(?:\.\d{1,9})?) ?([A-Za-z]{0,3})$/;
const AN_HOUR = /\/ ?h$/;

/** Parses an amount; null if it is invalid. */
export function readAmount(unit: FigureUnit, text: string): number | null {
  switch (unit) {
    case "ratio":
      return within(readQuantity(text, "none", true), 1);
    case "ms":
      return within(readQuantity(text, "time", false));
    case "cost":
      return within(readQuantity(text.replace(AN_HOUR, "").trim(), "none", true));
    case "count":
      return within(readQuantity(text, "none", true));
    case "bytes":
      return readBytes(text);
  }
}

function within(reading: ReturnType<typeof readQuantity>, most = Infinity): number | null {
  if (!reading.ok) return null;
  return reading.value >= 0 && reading.value <= most ? reading.value : null;
}

function readBytes(text: string): number | null {
  const [, amount, unit = ""] = WITH_LETTERS.exec(text) ?? [];
  const factor = BYTES.get(unit);
  return amount === undefined || factor === undefined ? null : Number(amount) * factor;
}
