/** Formats numbers in reports. */

/**
 * Ratio below which only "less than" is shown: a short run cannot measure it, and it is irrelevant.
 */
export const NEGLIGIBLE_RATIO = 1e-6;

/** Formats a ratio as a percentage with a few digits, a dash for null. */
export function ratioText(ratio: number | null): string {
  if (ratio === null) return "–";
  if (ratio === 0) return "0%";
  if (ratio < NEGLIGIBLE_RATIO) return "<0.0001%";
  const value = 100 * ratio;
  if (value < 0.01) return `${trimZeros(value.toFixed(4))}%`;
  return `${trimZeros(value.toFixed(value < 10 ? 3 : 2))}%`;
}

/** Formats counted violations; for zero, the upper bound from the rule of three. */
export function countedText(violations: number, queries: number): string {
  if (queries === 0) return "–";
  if (violations > 0) return ratioText(violations / queries);
  return `≤ ${ratioText(Math.min(1, 3 / queries))} (none of ${decimalText(queries)})`;
}

/** Formats the promised violations of a level; for a sample, the upper bound and the count. */
export function promisedText({
  violationRate,
  sample,
}: {
  readonly violationRate: number;
  readonly sample?: { readonly queries: number; readonly violations: number };
}): string {
  if (sample === undefined) return ratioText(violationRate);
  const seen = sample.violations === 0 ? "none" : decimalText(sample.violations);
  return `≤ ${ratioText(violationRate)} (${seen} of ${decimalText(sample.queries)})`;
}

/** Formats an upper bound of a share: `at most 2%`, or `none`. */
export function atMostText(ratio: number): string {
  return ratio === 0 ? "none" : `at most ${ratioText(ratio)}`;
}

/** Formats a share as a whole percentage. */
export function shareText(share: number): string {
  if (share > 0 && share < 0.01) return "<1%";
  if (share < 1 && share > 0.99) return ">99%";
  return `${Math.round(100 * share)}%`;
}

/** Formats a number with separated thousands and at most `digits` decimals. */
export function decimalText(value: number, digits = 0): string {
  return value.toLocaleString("en-US", { maximumFractionDigits: digits });
}

/** Formats a time in milliseconds. */
export function msText(ms: number): string {
  return `${decimalText(ms, ms < 10 ? 2 : 1)} ms`;
}

/** Formats `a, b and c`. */
export function listText(items: readonly string[]): string {
  if (items.length < 2) return items.join("");
  return `${items.slice(0, -1).join(", ")} and ${items.at(-1)}`;
}

/** Formats `1 trace`, `2 traces`. */
export function counted(count: number, noun: string): string {
  return `${decimalText(count)} ${noun}${count === 1 ? "" : "s"}`;
}

function trimZeros(digits: string): string {
  return digits.includes(".") ? digits.replace(/\.?0{1,20}$/, "") : digits;
}
