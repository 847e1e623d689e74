/** Formats comparisons of promises: cells of tables, and a line for each regression. */
import { short } from "stratagem-runtime/internal/describe/text";
import { FIGURES } from "../spec/schema/promise-figures.ts";
import { amountText } from "./amount-text.ts";
import type { Comparison } from "./compare.ts";
import { partText } from "./promised-bundle.ts";

/** Formats `97.950% → 97.100%`, or one value if they are the same. */
export function changeText({ figure, before, after, verdict }: Comparison): string {
  const [a, b] = [valueText(figure, before), valueText(figure, after)];
  return verdict === "same" || (a === b && verdict !== "regression") ? b : `${a} → ${b}`;
}

function valueText(figure: Comparison["figure"], value: Comparison["before"]): string {
  if (value === null) return "none";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "string" || figure === "feasible" || figure === "application") {
    return String(value);
  }
  return amountText(FIGURES[figure].unit, value);
}

/**
 * Formats `violations at 860 qps: 0.037% → 0.042%, within sampling error: 99 % interval of the
 * change -0.020% to 0.031%`; null for other rows.
 */
export function chanceText(comparison: Comparison): string | null {
  const { figure, before, after, verdict, interval } = comparison;
  if (verdict !== "same" || interval === undefined || before === after) return null;
  const [a, b] = [valueText(figure, before), valueText(figure, after)];
  if (a === b) return null;
  const [lower, upper] = interval.map((one) => valueText(figure, one));
  const change = `99 % interval of the change ${lower} to ${upper}`;
  return `${placeText(comparison)}: ${a} → ${b}, within sampling error: ${change}`;
}

/** Formats `accuracy of class fast at 860 qps`. */
export function placeText({ figure, part, loadQps }: Comparison): string {
  const at = loadQps === null ? "" : ` at ${short(loadQps)} qps`;
  return `${figure}${partText(part)}${at}`;
}

/** Formats `97.946% → 97.100%, allowed: accuracy 0.5%`. */
export function judgementText(comparison: Comparison): string {
  const { tolerances } = comparison;
  const allowed = tolerances.length === 0 ? "" : `, allowed: ${tolerances.join("; ")}`;
  return `${changeText(comparison)}${allowed}`;
}

/** Formats `REGRESSION accuracy at 860 qps: 97.946% → 97.100%, allowed: accuracy 0.5%`. */
export function regressionLine(comparison: Comparison): string {
  return `REGRESSION ${placeText(comparison)}: ${judgementText(comparison)}`;
}
