/**
 * Negative binomial probabilities by mean and dispersion (variance over mean, above 1): counts of
 * over-dispersed arrivals. Poisson is the limit of dispersion 1. With the dispersion fixed, counts
 * over adjoining intervals add up to a count of the same kind.
 *
 * P[k] = Γ(k + r) / (Γ(r) k!) · p^r (1 − p)^k with p = 1 / dispersion and r = mean / (dispersion −
 * 1); computed by the ratios of neighbours outward from the mode and scaled to sum to 1, so no
 * gamma function is needed and rounding errors grow only away from the mass.
 */
import type { PmfWindow } from "./poisson.ts";

/**
 * Window of all probabilities of at least `threshold` times the largest, scaled to sum to 1.
 * @param mean finite, >= 0.
 * @param dispersion > 1.
 */
export function negativeBinomialWindow(
  mean: number,
  dispersion: number,
  threshold: number,
): PmfWindow {
  const mode = modeOf(mean, dispersion);
  let first = mode;
  for (let p = 1; first > 0 && p >= threshold; first--) p /= ratio(first - 1, mean, dispersion);
  let last = mode;
  for (let p = 1; p >= threshold && mean > 0; last++) p *= ratio(last, mean, dispersion);
  const pmf = new Float64Array(last - first + 1);
  fillOutward(first, mode - first, mean, dispersion, pmf);
  return { first, pmf };
}

/**
 * Like `phaseWeights`: weight[q] ∝ P[X = base + q], normalised.
 * @param weight overwritten.
 */
export function negativeBinomialPhaseWeights(
  base: number,
  mean: number,
  dispersion: number,
  weight: Float64Array,
): void {
  const mode = Math.min(weight.length - 1, Math.max(0, modeOf(mean, dispersion) - base));
  fillOutward(base, mode, mean, dispersion, weight);
}

/** pmf[i] ∝ P[X = first + i], computed from i = mode. */
function fillOutward(
  first: number,
  mode: number,
  mean: number,
  dispersion: number,
  pmf: Float64Array,
): void {
  pmf[mode] = 1;
  let sum = 1;
  for (let i = mode + 1; i < pmf.length; i++) {
    pmf[i] = pmf[i - 1]! * ratio(first + i - 1, mean, dispersion);
    sum += pmf[i]!;
  }
  for (let i = mode - 1; i >= 0; i--) {
    pmf[i] = pmf[i + 1]! / ratio(first + i, mean, dispersion);
    sum += pmf[i]!;
  }
  for (let i = 0; i < pmf.length; i++) pmf[i] = pmf[i]! / sum;
}

/** P[X = k + 1] / P[X = k]. */
function ratio(k: number, mean: number, dispersion: number): number {
  return ((k * (dispersion - 1) + mean) / (k + 1)) * (1 / dispersion);
}

function modeOf(mean: number, dispersion: number): number {
  return Math.max(0, Math.floor(mean - (dispersion - 1)));
}
