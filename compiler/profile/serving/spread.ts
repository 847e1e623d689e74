/** Quantiles of times of the serving path. */
import type { Spread } from "stratagem-runtime/internal/bundle/schema";
import { assert } from "stratagem-runtime/internal/core/assert";

const NO_TIME: Spread = { p50: 0, p95: 0, p99: 0, mean: 0 };

/** Nearest ranks, rounded to a nanosecond; all 0 without times. @param times each at least 0. */
export function spreadOf(times: readonly number[]): Spread {
  if (times.length === 0) return NO_TIME;
  const sorted = Float64Array.from(times).sort();
  const [p50, p95, p99] = [0.5, 0.95, 0.99].map((q) => rounded(ranked(sorted, q)));
  assert(p50 !== undefined && p95 !== undefined && p99 !== undefined, "three are asked for");
  return { p50, p95, p99, mean: rounded(meanOf(times)) };
}

/** Scales quantiles to another mean; constant if the mean of `form` is 0. */
export function scaledTo(mean: number, form: Spread): Spread {
  const scale = form.mean > 0 ? mean / form.mean : 0;
  if (scale === 0) return { p50: rounded(mean), p95: rounded(mean), p99: rounded(mean), mean };
  const [p50, p95, p99] = [form.p50, form.p95, form.p99].map((ms) => rounded(ms * scale));
  return { p50: p50 ?? 0, p95: p95 ?? 0, p99: p99 ?? 0, mean: rounded(mean) };
}

/**
 * Estimates the quantiles of one of `parts` independent, identical times from their sums. A long
 * sum is usually due to one part, so a part is that long `parts` times less often.
 */
export function partOf(sums: readonly number[], parts: number): Spread {
  if (sums.length === 0) return NO_TIME;
  const sorted = Float64Array.from(sums).sort();
  const usual = ranked(sorted, 0.5) / parts;
  const tail = (q: number): number => {
    const sum = ranked(sorted, Math.max(0.5, 1 - parts * (1 - q)));
    return rounded(Math.max(usual, sum - (parts - 1) * usual));
  };
  return {
    p50: rounded(usual),
    p95: tail(0.95),
    p99: tail(0.99),
    mean: rounded(meanOf(sums) / parts),
  };
}

/**
 * Limits times to their 99th percentile: a few interruptions would make the mean, which is drawn
 * too. Interruptions by the host are measured as stalls.
 */
export function withoutOutliers(times: readonly number[]): number[] {
  if (times.length === 0) return [];
  const mostMs = ranked(Float64Array.from(times).sort(), 0.99);
  return times.map((ms) => Math.min(ms, mostMs));
}

export function meanOf(times: readonly number[]): number {
  return times.reduce((sum, ms) => sum + ms, 0) / Math.max(1, times.length);
}

/** Lower median; 0 without times. */
export function medianOf(times: readonly number[]): number {
  return times.length === 0 ? 0 : ranked(Float64Array.from(times).sort(), 0.5);
}

function ranked(sorted: Float64Array, quantile: number): number {
  const rank = Math.max(1, Math.ceil(quantile * sorted.length - 1e-9));
  return sorted[rank - 1] ?? 0;
}

/** Rounds to a nanosecond. */
export function rounded(ms: number): number {
  return Math.round(ms * 1e6) / 1e6;
}
