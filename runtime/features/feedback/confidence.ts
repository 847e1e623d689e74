/** Intervals of a share that hold however often one looks, and whenever one stops. */

export interface Interval {
  /** 0..1. */
  readonly lower: number;
  readonly upper: number;
}

/** Of the beta distribution that stands for what is not known yet: Krichevsky and Trofimov's. */
const PRIOR = 0.5;
/** Halvings of an interval of length 1, as fine as a double. */
const HALVINGS = 60;
/** From here on Stirling's series is exact to 1e-15. */
const STIRLING_FROM = 15;

/**
 * A confidence sequence for the chance of success of independent trials: the chance that it ever
 * leaves the truth out, at any number of trials, is at most `alpha`. It is the set of chances that
 * a mixture of bets against them has not refuted: the likelihood of what came, averaged over a beta
 * distribution, is a martingale relative to the likelihood at the truth, which exceeds 1 / alpha
 * with chance alpha at most.
 * @param right trials that succeeded. @param wrong those that did not. @param alpha 0..1.
 * @returns 0..1; all of it without trials.
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
 * Logarithm of what a bettor against a chance has made of 1.
 * @param chance in question, 0..1, the ends excluded.
 */
export function logEvidence(right: number, wrong: number, chance: number): number {
  const mixed = logBeta(PRIOR + right, PRIOR + wrong) - logBeta(PRIOR, PRIOR);
  return mixed - right * Math.log(chance) - wrong * Math.log1p(-chance);
}

/** The edge of what is not refuted, between a chance that is and one that is not. */
function bound(from: number, to: number, isRefuted: (chance: number) => boolean): number {
  let [refuted, kept] = [from, to];
  for (let step = 0; step < HALVINGS; step++) {
    const middle = (refuted + kept) / 2;
    if (isRefuted(middle)) refuted = middle;
    else kept = middle;
  }
  // On the side of what is refuted, so that rounding leaves nothing out.
  return refuted;
}

function logBeta(a: number, b: number): number {
  return logGamma(a) + logGamma(b) - logGamma(a + b);
}

/** Source: Abramowitz and Stegun 6.1.15 and 6.1.41. @param x above 0. */
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
