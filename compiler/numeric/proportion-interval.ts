/** Confidence intervals of proportions, of 99 % by default, and of the difference of two. */

/** Two-sided 99 % quantile of the normal distribution, and the 95 % one. */
export const Z = 2.5758293035489;
export const Z_95 = 1.95996398454005;

interface Bounds {
  readonly lower: number;
  readonly upper: number;
}

/**
 * Returns Wilson's interval; conservative for the mean of scores between 0 and 1. Source: E. B.
 * Wilson, JASA 22 (1927).
 * @param count number of draws; infinity for an exact proportion.
 */
export function proportionInterval(estimate: number, count: number, z = Z): Bounds {
  const spread = (z * z) / count;
  const middle = (estimate + spread / 2) / (1 + spread);
  const half = (z / (1 + spread)) * Math.sqrt((estimate * (1 - estimate) + spread / 4) / count);
  return { lower: Math.max(0, middle - half), upper: Math.min(1, middle + half) };
}

/**
 * Returns the hybrid score interval of `b` minus `a`, of independent draws. Source: R. G. Newcombe,
 * Statistics in Medicine 17 (1998), method 10.
 */
export function proportionChange(a: number, countA: number, b: number, countB: number): Bounds {
  const [ofA, ofB] = [proportionInterval(a, countA), proportionInterval(b, countB)];
  return {
    lower: b - a - Math.hypot(b - ofB.lower, ofA.upper - a),
    upper: b - a + Math.hypot(ofB.upper - b, a - ofA.lower),
  };
}
