/** Times of many runs, as tables tell them. */
import { ascending } from "../../experiments/harness/numbers.ts";

export async function timed(change: () => unknown): Promise<number> {
  const startMs = performance.now();
  await change();
  return performance.now() - startMs;
}

export function quantile(values: readonly number[], share: number): number {
  const sorted = ascending(values);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
}

/** What `spread` tells. */
export const SPREAD = ["min, ms", "p50, ms", "p95, ms"];

export function spread(values: readonly number[]): string[] {
  return [0, 0.5, 0.95].map((share) => ms(quantile(values, share)));
}

export function ms(value: number): string {
  return value.toFixed(value < 1 ? 3 : value < 10 ? 2 : 1);
}
