/**
 * Binomial probabilities by Loader's saddle-point form, as in `poisson.ts`, and the order
 * statistics they give.
 */
import { deviance, stirlingError } from "./poisson.ts";

/**
 * Probability of exactly `count` successes in `trials`.
 * @param count 0 … trials, an integer.
 * @param chance in [0, 1].
 */
export function binomialProbability(count: number, trials: number, chance: number): number {
  if (chance === 0) return count === 0 ? 1 : 0;
  if (chance === 1) return count === trials ? 1 : 0;
  if (count === 0) return Math.exp(trials * Math.log1p(-chance));
  if (count === trials) return Math.exp(trials * Math.log(chance));
  const failures = trials - count;
  const exponent =
    stirlingError(trials) -
    stirlingError(count) -
    stirlingError(failures) -
    deviance(count, trials * chance) -
    deviance(failures, trials * (1 - chance));
  return Math.exp(exponent) * Math.sqrt(trials / (2 * Math.PI * count * failures));
}

/**
 * below[i] = P[the rank-th smallest of firstCount + i uniform points in [0, 1] is at most x] =
 * P[Binomial(firstCount + i, x) ≥ rank].
 *
 * The first value sums the shorter tail outward; each further value adds one point.
 * @param rank 1 … firstCount.
 * @param x in (0, 1).
 * @param below overwritten.
 */
export function orderStatisticBelow(
  rank: number,
  firstCount: number,
  x: number,
  below: Float64Array,
): void {
  const odds = x / (1 - x);
  const atRank = binomialProbability(rank - 1, firstCount, x);
  let tail = 0;
  if (rank - 1 >= firstCount * x) {
    let term = atRank;
    for (let k = rank - 1; k < firstCount && term > tail * 1e-17; k++) {
      term *= ((firstCount - k) / (k + 1)) * odds;
      tail += term;
    }
  } else {
    let term = atRank;
    let rest = term;
    for (let k = rank - 1; k > 0 && term > rest * 1e-17; k--) {
      term *= k / ((firstCount - k + 1) * odds);
      rest += term;
    }
    tail = 1 - rest;
  }
  let pmf = atRank;
  for (let i = 0; i < below.length; i++) {
    below[i] = tail;
    tail += x * pmf;
    const count = firstCount + i + 1;
    pmf *= (count * (1 - x)) / (count - rank + 1);
  }
}

/**
 * P[Binomial(trials, chance) <= count].
 * @param count 0 … trials, an integer.
 * @param chance in (0, 1).
 */
export function binomialAtMost(count: number, trials: number, chance: number): number {
  if (count >= trials) return 1;
  const above = new Float64Array(1);
  orderStatisticBelow(count + 1, trials, chance, above);
  return 1 - (above[0] ?? Number.NaN);
}
