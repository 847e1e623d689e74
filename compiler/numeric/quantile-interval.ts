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

/** Batches from which a percentile is stated without its interval. */
export const ENOUGH_BATCHES = 1000;

/** 99 % interval; null above if even the largest number is no bound. */
export type PercentileInterval = readonly [lower: number, upper: number | null];

export type PercentileIntervals = Readonly<Record<"p50" | "p95" | "p99", PercentileInterval>>;

const CONFIDENCE = 0.99;
/** Numbers that are compared with each other, in a time that grows with their square. */
const MOST_COMPARED = 8192;

/**
 * Intervals of percentiles of positive numbers, whose neighbours are alike, such as latencies of
 * requests that share a batch or a queue; null if there are enough batches to do without.
 * @param inOrder in the order of their arrivals or ends.
 * @param perBatch mean number of them that share a batch.
 * @param alike sequence whose neighbours are as alike; default: the numbers themselves.
 */
export function percentileIntervals(
  inOrder: Float64Array,
  perBatch: number,
  alike = inOrder,
): PercentileIntervals | null {
  if (inOrder.length === 0 || inOrder.length / perBatch >= ENOUGH_BATCHES) return null;
  const ascending = inOrder.slice().sort();
  // One in `step` of them shows over which distance they are alike; a batch holds more than that.
  const step = Math.ceil(alike.length / MOST_COMPARED);
  const thinned = alike.filter((_, index) => index % step === 0);
  const effect = Math.max(perBatch, step * designEffect(thinned));
  const drawCount = Math.max(1, Math.floor(inOrder.length / effect));
  const of = (quantile: number) => intervalOf(ascending, quantile, drawCount);
  return { p50: of(0.5), p95: of(0.95), p99: of(0.99) };
}

/** @param drawCount independent draws that the numbers are worth. */
function intervalOf(
  ascending: Float64Array,
  quantile: number,
  drawCount: number,
): PercentileInterval {
  const { length } = ascending;
  const { low, high } = quantileRanks(drawCount, quantile, CONFIDENCE);
  const isBounded = (chance: number): boolean =>
    binomialProbability(drawCount, drawCount, chance) <= (1 - CONFIDENCE) / 2;
  // Ranks from the largest, at the same share of the numbers as among the draws.
  const fromTop = (rank: number): number => ((drawCount - rank + 1) * length) / drawCount;
  const lower = ascending[length - Math.ceil(fromTop(low))] ?? 0;
  const upper = ascending[length - Math.max(1, Math.floor(fromTop(high)))] ?? 0;
  return [isBounded(1 - quantile) ? lower : 0, isBounded(quantile) ? upper : null];
}

/**
 * Factor by which neighbours that are alike increase the variance of a mean of ranks: the sum of
 * autocorrelations over all lags, up to the first pair whose sum is not positive. Source: C. J.
 * Geyer, Statistical Science 7 (1992), section 3.3.
 */
function designEffect(inOrder: Float64Array): number {
  const { length } = inOrder;
  const ascending = inOrder.slice().sort();
  // Equal values have the rank of the first.
  const rankOf = new Map<number, number>();
  for (let rank = length - 1; rank >= 0; rank--) rankOf.set(ascending[rank]!, rank);
  const ranks = inOrder.map((value) => rankOf.get(value) ?? 0);
  const mean = ranks.reduce((sum, rank) => sum + rank, 0) / length;
  for (let index = 0; index < length; index++) ranks[index]! -= mean;
  const variance = covariance(ranks, 0);
  if (variance === 0) return 1;
  let effect = -1;
  for (let lag = 0; lag + 1 < length / 2; lag += 2) {
    const pair = covariance(ranks, lag) + covariance(ranks, lag + 1);
    if (pair <= 0) break;
    effect += (2 * pair) / variance;
  }
  return Math.max(1, effect);
}

function covariance(values: Float64Array, lag: number): number {
  let sum = 0;
  for (let index = lag; index < values.length; index++)
    sum += values[index]! * values[index - lag]!;
  return sum;
}
