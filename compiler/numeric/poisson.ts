/**
 * Poisson probabilities, stable for means from 0 to at least 1e5.
 *
 * A single probability comes from Loader's saddle-point form, which neither overflows nor cancels;
 * a run of them is the recurrence p(k ± 1) outward from the mode, so rounding errors grow only away
 * from where the mass is. Source: C. Loader, "Fast and Accurate Computation of Binomial
 * Probabilities" (2000), §2–§4.
 */

const LOG_SQRT_TWO_PI = 0.5 * Math.log(2 * Math.PI);

/**
 * Consecutive probabilities P[X = first + i] of a distribution over counts, cut where they fall
 * below a threshold.
 */
export interface PmfWindow {
  readonly first: number;
  readonly pmf: Float64Array;
}

/**
 * Probability of exactly `count` events.
 * @param mean expected events, finite, >= 0.
 * @throws RangeError if mean is negative or not finite.
 */
export function poissonProbability(count: number, mean: number): number {
  if (!(mean >= 0) || mean === Number.POSITIVE_INFINITY) {
    throw new RangeError(
      `the mean of a Poisson distribution must be finite and at least 0, got ${mean}`,
    );
  }
  if (count < 0 || !Number.isInteger(count)) return 0;
  if (mean === 0) return count === 0 ? 1 : 0;
  if (count === 0) return Math.exp(-mean);
  return Math.exp(-stirlingError(count) - deviance(count, mean)) / Math.sqrt(2 * Math.PI * count);
}

/**
 * All probabilities of at least `threshold`, as one window. Its total falls short of 1 by at most
 * the cut-off tails, which for threshold 1e-18 and means up to 1e5 is below 1e-15.
 * @param mean expected events, finite, >= 0.
 * @throws RangeError like `poissonProbability`.
 */
export function poissonWindow(mean: number, threshold: number): PmfWindow {
  const mode = Math.floor(mean);
  const atMode = poissonProbability(mode, mean);
  let first = mode;
  for (let p = atMode; first > 0 && p >= threshold; first--) p *= first / mean;
  let last = mode;
  for (let p = atMode; p >= threshold && mean > 0; last++) p *= mean / (last + 1);

  const pmf = new Float64Array(last - first + 1);
  pmf[mode - first] = atMode;
  for (let k = mode; k > first; k--) pmf[k - 1 - first] = pmf[k - first]! * (k / mean);
  for (let k = mode; k < last; k++) pmf[k + 1 - first] = pmf[k - first]! * (mean / (k + 1));
  return { first, pmf };
}

/** Running sums of a window: `cumulative[i]` = P[X < first + i], shape (window length + 1,). */
export function cumulativeBelow(window: PmfWindow): Float64Array {
  const cumulative = new Float64Array(window.pmf.length + 1);
  let sum = 0;
  for (let i = 0; i < window.pmf.length; i++) {
    sum += window.pmf[i]!;
    cumulative[i + 1] = sum;
  }
  return cumulative;
}

/** Probability of a count in [low, high], from the running sums of a window. */
export function probabilityBetween(
  first: number,
  cumulative: Float64Array,
  low: number,
  high: number,
): number {
  const length = cumulative.length - 1;
  const from = Math.min(length, Math.max(0, low - first));
  const to = Math.min(length, Math.max(0, high + 1 - first));
  return to > from ? cumulative[to]! - cumulative[from]! : 0;
}

/** log n! − [log √(2πn) + n log n − n], the error of Stirling's formula, for an integer n >= 1. */
export function stirlingError(n: number): number {
  if (n < STIRLING_SERIES_FROM) {
    let logFactorial = 0;
    for (let i = 2; i <= n; i++) logFactorial += Math.log(i);
    return logFactorial - (LOG_SQRT_TWO_PI + 0.5 * Math.log(n) + n * Math.log(n) - n);
  }
  const n2 = n * n;
  return (1 / 12 - (1 / 360 - (1 / 1260 - 1 / 1680 / n2) / n2) / n2) / n;
}

/** Below this the series of the Stirling error has not converged to the last bit. */
const STIRLING_SERIES_FROM = 16;

/** x log(x / mean) + mean − x without the cancellation near x = mean. */
export function deviance(x: number, mean: number): number {
  const difference = x - mean;
  if (Math.abs(difference) >= 0.1 * (x + mean)) {
    return x * Math.log(x / mean) + mean - x;
  }
  const v = difference / (x + mean);
  let sum = difference * v;
  let term = 2 * x * v;
  for (let j = 1; j < 1000; j++) {
    term *= v * v;
    const next = sum + term / (2 * j + 1);
    if (next === sum) return sum;
    sum = next;
  }
  return sum;
}

/**
 * Distribution of the residue of a Poisson count: weight[q] ∝ P[Poisson(mean) = base + q] for q = 0
 * … weight.length − 1, normalised.
 *
 * Computed outward from its largest term, so neither a base far from the mean nor a mean of 0
 * underflows; in the limit mean → 0 all weight is on the smallest count.
 * @param weight overwritten. Source: RAMSIS §4.4, eq. 2, interval A.
 */
export function phaseWeights(base: number, mean: number, weight: Float64Array): void {
  const count = weight.length;
  const mode = Math.min(count - 1, Math.max(0, Math.floor(mean) - base));
  weight[mode] = 1;
  let sum = 1;
  for (let q = mode + 1; q < count; q++) {
    weight[q] = weight[q - 1]! * (mean / (base + q));
    sum += weight[q]!;
  }
  for (let q = mode - 1; q >= 0; q--) {
    weight[q] = weight[q + 1]! * ((base + q + 1) / mean);
    sum += weight[q]!;
  }
  for (let q = 0; q < count; q++) weight[q] = weight[q]! / sum;
}
