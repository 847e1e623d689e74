/** Confidence intervals of a share that stay valid under repeated looks and optional stopping. */

export interface Interval {
  /** Range 0..1. */
  readonly lower: number;
  readonly upper: number;
}

/** Parameter of the beta prior, by Krichevsky and Trofimov. */
const PRIOR = 0.5;
/** Bisection steps on an interval of length 1, down to the precision of a double. */
const HALVINGS = 60;
/** Stirling's series is exact to 1e-15 from here. */
const STIRLING_FROM = 15;

/**
 * Confidence sequence for the success probability of independent trials: the probability that it
 * ever excludes the true value, at any number of trials, is at most `alpha`. It contains the values
 * that a mixture of bets has not refuted: the likelihood of the data, averaged over a beta
 * distribution, is a martingale relative to the likelihood at the true value and exceeds 1 / alpha
 * with probability at most alpha.
 * @param right successes. @param wrong failures. @param alpha 0..1.
 * @returns the interval, 0..1 without trials.
 * Source: Robbins 1970, "Statistical methods related to the law of the iterated logarithm", with
 * Ville's inequality; Howard et al. 2021, "Time-uniform, nonparametric, nonasymptotic confidence
 * sequences", §3.2.
 */
export function shareInterval(right: number, wrong: number, alpha: number): Interval {
  const trials = right + wrong;
  if (trials === 0) return { lower: 0, upper: 1 };
  const likeliest = right / trials;
  const isRefuted = (chance: number) => logEvidence(right, wrong, chance) > -Math.log(alpha);
  return {
    lower: right === 0 ? 0 : bound(0, likeliest, isRefuted),
    upper: wrong === 0 ? 1 : bound(1, likeliest, isRefuted),
  };
}

/**
 * Logarithm of the wealth of a bettor against a probability, from an initial wealth of 1.
 * @param chance the probability, 0..1, exclusive.
 */
export function logEvidence(right: number, wrong: number, chance: number): number {
  const mixed = logBeta(PRIOR + right, PRIOR + wrong) - logBeta(PRIOR, PRIOR);
  return mixed - right * Math.log(chance) - wrong * Math.log1p(-chance);
}

/** Finds the bound by bisection between a refuted and a plausible probability. */
function bound(from: number, to: number, isRefuted: (chance: number) => boolean): number {
  let [refuted, kept] = [from, to];
  for (let step = 0; step < HALVINGS; step++) {
    const middle = (refuted + kept) / 2;
    if (isRefuted(middle)) refuted = middle;
    else kept = middle;
  }
  // The refuted side, so that rounding never shrinks the interval.
  return refuted;
}

function logBeta(a: number, b: number): number {
  return logGamma(a) + logGamma(b) - logGamma(a + b);
}

/**
 * Logarithm of the gamma function. @param x above 0. Source: Abramowitz and Stegun 6.1.15 and
 * 6.1.41.
 */
function logGamma(x: number): number {
  let [at, product] = [x, 1];
  while (at < STIRLING_FROM) {
    product *= at;
    at++;
  }
  const inverse = 1 / at;
  const square = inverse * inverse;
  const series =
    inverse * (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square * (1 / 1680))));
  const stirling = (at - 0.5) * Math.log(at) - at + 0.5 * Math.log(2 * Math.PI) + series;
  return stirling - Math.log(product);
}
