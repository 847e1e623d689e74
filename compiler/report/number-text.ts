/** Numbers as a report writes them. */

/** Ratios below this are told as "less than": a run of a few seconds cannot show them, nor does anybody act on them. */
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
  return digits.includes(".") ? digits.replace(/\.?0+$/, "") : digits;
}
