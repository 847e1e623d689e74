/** What tables are made of: means, quantiles, and numbers in words. */

export function sum(values: Iterable<number>): number {
  let total = 0;
  for (const value of values) total += value;
  return total;
}

export function mean(values: readonly number[]): number {
  return sum(values) / values.length;
}

/** Mean of a number of each. */
export function meanOf<T>(items: readonly T[], of: (item: T) => number): number {
  return items.reduce((total, item) => total + of(item), 0) / items.length;
}

/** Of the mean, from the spread. */
export function standardError(values: readonly number[]): number {
  const middle = mean(values);
  const squares = sum(values.map((value) => (value - middle) ** 2));
  return Math.sqrt(squares / (values.length - 1) / values.length);
}

/** Of ascending values, by nearest rank; NaN of none. */
export function quantile(ascending: ArrayLike<number>, share: number): number {
  const at = Math.max(0, Math.ceil(share * ascending.length) - 1);
  return ascending[at] ?? Number.NaN;
}

export function ascending(values: readonly number[]): number[] {
  return values.toSorted((one, other) => one - other);
}

/** From the first to the last, a step apart. */
export function range(from: number, to: number, step: number): number[] {
  return Array.from({ length: Math.round((to - from) / step) + 1 }, (_, at) => from + at * step);
}

/** `-` where there is none. */
export function percent(ratio: number | null, digits = 2): string {
  return ratio === null ? "-" : `${(100 * ratio).toFixed(digits)}%`;
}

/** A ratio that may be as small as it likes. */
export function rate(value: number): string {
  return value === 0 ? "0" : value.toExponential(1);
}

export function ms(value: number, digits = 1): string {
  return `${value.toFixed(digits)} ms`;
}

/** An item that is there. @throws RangeError if it is not. */
export function present<T>(item: T | undefined, what = "an item"): T {
  if (item === undefined) throw new RangeError(`expected ${what}, found none`);
  return item;
}
