/** How far a share of trials is known. */
import type { Interval } from "./truth-document.ts";

/** Two-sided 99 % of the normal distribution. */
const Z = 2.5758293035489;

/**
 * Wilson's interval at 99 % of the mean of scores from 0 to 1; null of none. For scores between it
 * is wider than need be. Source: E. B. Wilson, JASA 22 (1927).
 */
export function proportionOf(sum: number, asked: number): Interval | null {
  if (asked === 0) return null;
  const estimate = sum / asked;
  const spread = (Z * Z) / asked;
  const middle = (estimate + spread / 2) / (1 + spread);
  const half = (Z / (1 + spread)) * Math.sqrt((estimate * (1 - estimate) + spread / 4) / asked);
  return { estimate, lower: Math.max(0, middle - half), upper: Math.min(1, middle + half), asked };
}
