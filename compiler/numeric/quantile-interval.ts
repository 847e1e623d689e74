/** Confidence intervals of quantiles that assume nothing of how the numbers are distributed. */
import { binomialProbability } from "./binomial.ts";

/** Ranks from 1 on, the smallest first, and how probable it is that the quantile lies between. */
export interface RankInterval {
  readonly low: number;
  readonly high: number;
  /** In [0, 1]: below what was asked for if there are too few numbers. */
  readonly confidence: number;
}

/**
 * Order statistics of independent draws between which a quantile lies. How many draws do not exceed
 * it is binomial, whatever their distribution; each side has half of the risk. Where even the
 * largest draw does not bound the quantile well enough, it is taken all the same, and the
 * confidence says so: of the 95th percentile at 90 % that may be below 59 draws.
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
  // `below` is the chance that at most `rank` − 1 draws do not exceed the quantile.
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
