/** Distribution-free confidence intervals of quantiles. */
import { binomialProbability } from "./binomial.ts";

/** Ranks from 1, smallest first, and the probability that the quantile lies between them. */
export interface RankInterval {
  readonly low: number;
  readonly high: number;
  /** In [0, 1]; below the requested confidence if there are too few numbers. */
  readonly confidence: number;
}

/**
 * Order statistics of independent draws between which a quantile lies. The number of draws that do
 * not exceed it is binomial, whatever their distribution; each side has half of the risk. If even
 * the largest draw does not bound the quantile well enough, it is used all the same, and the
 * confidence says so: for the 95th percentile at 90 % that may happen below 59 draws.
 * @param count of the draws, at least 1.
 * @param quantile in (0, 1).
 * @param confidence in (0, 1).
 * Source: David, Nagaraja, "Order Statistics", 3rd edition, 2003, section 7.1.
 */
export function quantileRanks(count: number, quantile: number, confidence: number): RankInterval {
  const risk = (1 - confidence) / 2;
  let low = 1;
  let high = 0;
  let below = 0;
  let missedBelow = 0;
  // `below` is the probability that at most `rank` − 1 draws do not exceed the quantile.
  for (let rank = 1; rank <= count && high === 0; rank++) {
    below += binomialProbability(rank - 1, count, quantile);
    if (below <= risk || rank === 1) {
      low = rank;
      missedBelow = below;
    }
    if (below >= 1 - risk || rank === count) high = rank;
  }
  return { low, high, confidence: Math.max(0, below - missedBelow) };
}
