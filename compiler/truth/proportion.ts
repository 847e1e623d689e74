/** Confidence interval of a proportion. */
import type { Interval } from "./truth-document.ts";

/** Two-sided 99 % quantile of the normal distribution. */
const Z = 2.5758293035489;

/**
 * Returns Wilson's 99 % interval of the mean of scores from 0 to 1; null without scores. It is
 * conservative for scores between 0 and 1. Source: E. B. Wilson, JASA 22 (1927).
 */
export function proportionOf(sum: number, asked: number): Interval | null {
  if (asked === 0) return null;
  const estimate = sum / asked;
  const spread = (Z * Z) / asked;
  const middle = (estimate + spread / 2) / (1 + spread);
  const half = (Z / (1 + spread)) * Math.sqrt((estimate * (1 - estimate) + spread / 4) / asked);
  return { estimate, lower: Math.max(0, middle - half), upper: Math.min(1, middle + half), asked };
}
