/** Numbers as a report writes them. */

/**
 * Ratios below this are told as "less than": a short run cannot show them, nor does anybody act on
 * them.
 */
export const NEGLIGIBLE_RATIO = 1e-6;

/** A ratio as a percentage of a few digits, a dash for null. */
export function ratioText(ratio: number | null): string {
  if (ratio === null) return "–";
  if (ratio === 0) return "0%";
  if (ratio < NEGLIGIBLE_RATIO) return "<0.0001%";
  const value = 100 * ratio;
  if (value < 0.01) return `${trimZeros(value.toFixed(4))}%`;
  return `${trimZeros(value.toFixed(value < 10 ? 3 : 2))}%`;
}

/**
 * Violations that were counted; of none what the true rate hardly exceeds, by the rule of three.
 */
export function countedText(violations: number, queries: number): string {
  if (queries === 0) return "–";
  if (violations > 0) return ratioText(violations / queries);
  return `≤ ${ratioText(Math.min(1, 3 / queries))} (none of ${decimalText(queries)})`;
}

/**
 * Violations that a level promises: of a sample what the true rate hardly exceeds, and what was
 * seen.
 */
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

/** The most of the requests, or other things, that do something: `at most 2%`, or `none`. */
export function atMostText(ratio: number): string {
  return ratio === 0 ? "none" : `at most ${ratioText(ratio)}`;
}

/** A ratio as a whole percentage, for shares. */
export function shareText(share: number): string {
  if (share > 0 && share < 0.01) return "<1%";
  if (share < 1 && share > 0.99) return ">99%";
  return `${Math.round(100 * share)}%`;
}

/** A number with separated thousands and at most `digits` decimals. */
export function decimalText(value: number, digits = 0): string {
  return value.toLocaleString("en-US", { maximumFractionDigits: digits });
}

/** A time in milliseconds. */
export function msText(ms: number): string {
  return `${decimalText(ms, ms < 10 ? 2 : 1)} ms`;
}

/** `a, b and c` */
export function listText(items: readonly string[]): string {
  if (items.length < 2) return items.join("");
  return `${items.slice(0, -1).join(", ")} and ${items.at(-1)}`;
}

/** `1 trace`, `2 traces` */
export function counted(count: number, noun: string): string {
  return `${decimalText(count)} ${noun}${count === 1 ? "" : "s"}`;
}

function trimZeros(digits: string): string {
  return digits.includes(".") ? digits.replace(/\.?0{1,20}$/, "") : digits;
}
