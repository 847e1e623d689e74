/** Reads numbers with their units: times, rates, ratios. */
import { type Dimension, type Evaluated, evaluateExpression } from "./expression.ts";

type Reading =
  | { readonly ok: true; readonly value: number }
  | { readonly ok: false; readonly reason: string };

/**
 * Reads a number as files write it, in ms, queries/s or as a plain number; always finite.
 * @param wanted required dimension.
 * @param bare whether a number without a unit has that dimension.
 */
export function readQuantity(input: number | string, wanted: Dimension, bare: boolean): Reading {
  const read = typeof input === "number" ? checked(input, "none") : readText(input.trim());
  if (!read.ok) return read;
  if (read.dimension === wanted) return { ok: true, value: read.value };
  if (read.dimension !== "none") return { ok: false, reason: `a ${read.dimension}` };
  return bare ? { ok: true, value: read.value } : { ok: false, reason: "without a unit" };
}

/** Plain number with an optional unit; other or longer texts are expressions. */
const PLAIN = /^([+-]?(?:\d+(?:\.\d*)?|\.\d+))(?:[eE]([+-]?\d+))?\s*(ms|s|%|\/\s*s)?$/;
const MAX_PLAIN_LENGTH = 60;

const SUFFIXES: Readonly<Record<string, { dimension: Dimension; shift: number }>> = {
  ms: { dimension: "time", shift: 0 },
  s: { dimension: "time", shift: 3 },
  "%": { dimension: "none", shift: -2 },
  "/s": { dimension: "rate", shift: 0 },
};

function readText(text: string): Evaluated {
  const plain = text.length <= MAX_PLAIN_LENGTH ? PLAIN.exec(text) : null;
  if (plain === null) return evaluateExpression(text);
  const [, mantissa, exponent, suffix] = plain;
  const unit = SUFFIXES[suffix?.replace(/\s/g, "") ?? ""];
  // Moving the decimal point instead of multiplying gives `57.972%` the same double as `0.57972`,
  // and `0.29 s` the same as `290 ms`.
  const value = Number(`${mantissa}e${Number(exponent ?? 0) + (unit?.shift ?? 0)}`);
  return checked(value, unit?.dimension ?? "none");
}

function checked(value: number, dimension: Dimension): Evaluated {
  return Number.isFinite(value)
    ? { ok: true, value, dimension }
    : { ok: false, reason: "not a finite number" };
}
