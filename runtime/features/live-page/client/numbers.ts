/** Formats numbers for the page; a dash stands for an unknown value. */

export const UNKNOWN = "–";

/** About three digits, or all of a large number, with thousands separators. */
export function decimalText(value: number | null): string {
  if (value === null) return UNKNOWN;
  const size = Math.abs(value);
  const digits = size >= 100 ? 0 : size >= 10 ? 1 : 2;
  return value.toLocaleString("en-US", { maximumFractionDigits: digits });
}

export function countText(value: number | null): string {
  return value === null ? UNKNOWN : Math.round(value).toLocaleString("en-US");
}

/** Formats a percentage; a positive ratio never appears as 0. */
export function ratioText(ratio: number | null): string {
  if (ratio === null) return UNKNOWN;
  if (ratio > 0 && ratio < 1e-5) return "<0.001%";
  const percent = 100 * ratio;
  const digits = percent > 0 && percent < 0.1 ? 3 : 2;
  return `${percent.toLocaleString("en-US", { maximumFractionDigits: digits })}%`;
}

export function msText(ms: number | null): string {
  return ms === null ? UNKNOWN : `${decimalText(ms)} ms`;
}

/** Unit of the load: rows, or queries if several workers run one query. */
export function loadText(
  qps: number | null,
  { places }: { readonly places: object | null },
): string {
  return `${decimalText(qps)} ${places === null ? "rows/s" : "queries/s"}`;
}

/** `1 row`, `2 rows` */
export function counted(count: number, noun: string): string {
  return `${countText(count)} ${noun}${count === 1 ? "" : "s"}`;
}

/** Chooses three to five round numbers within a range. */
export function ticksTo(least: number, most: number): number[] {
  const span = most - least;
  if (!(span > 0)) return [least];
  const power = 10 ** Math.floor(Math.log10(span / 3));
  const step = [1, 2, 2.5, 5, 10].map((one) => one * power).find((one) => span / one <= 4.5);
  const width = step ?? 10 * power;
  const first = Math.ceil(least / width - 1e-9);
  const count = Math.floor(most / width + 1e-9) - first;
  return Array.from({ length: count + 1 }, (_, index) => (first + index) * width);
}
