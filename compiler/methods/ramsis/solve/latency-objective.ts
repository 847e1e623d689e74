/**
 * The worth of latency: a policy maximises its accuracy per query less `price` · E[latency] / SLO,
 * over the queries that are served, from arrival to answer. With classes the SLO is the longest.
 *
 * A price p alone costs at most p · (the SLOs of latency that it saves) of accuracy, since the
 * policy of the highest worth has at least the worth of the most accurate one.
 */
import type { RamsisOptions, Slo } from "stratagem-runtime/internal/bundle/schema";

export interface LatencyObjective {
  /** In accuracy per SLO of mean latency. */
  readonly price: number;
  /** A price that costs at most `mostAccuracy`, in any comparison. */
  readonly safePrice: number;
  /** Maximum accuracy per query that latency may cost, compared with the best policy found. */
  readonly mostAccuracy: number;
}

/** Targets of a policy, and the price that compares policies. */
export interface Worth {
  /** Accuracy less the cost of missed limits. */
  readonly score: number;
  /** The score less the price of latency. */
  readonly worth: number;
}

/** Latency decides between policies of nearly equal accuracy. */
const DEFAULT_PRICE = 1e-3;
/** Latencies differ by an SLO at most, so this price never costs more than 1e-4. */
const SAFE_PRICE = 1e-4;
/** Less than the 1e-4 that the default may cost, since the differences vary with the arrivals. */
const MOST_ACCURACY = 5e-5;

export function latencyObjective({
  latencyPrice,
}: Pick<RamsisOptions, "latencyPrice">): LatencyObjective {
  return latencyPrice === undefined
    ? { price: DEFAULT_PRICE, safePrice: SAFE_PRICE, mostAccuracy: MOST_ACCURACY }
    : { price: latencyPrice, safePrice: latencyPrice, mostAccuracy: Number.POSITIVE_INFINITY };
}

/**
 * Returns whether latency decides for the first: its worth is higher and its score about as high.
 */
export function isBetter({ mostAccuracy }: LatencyObjective, one: Worth, other: Worth): boolean {
  const gain = one.score - other.score;
  return Math.abs(gain) <= mostAccuracy ? one.worth > other.worth : gain > 0;
}

/** Accuracy that a policy loses whose latencies are twice a target. */
export const TARGET_PENALTY = 2;

/** Latency percentiles with targets. */
export interface Percentiles {
  readonly p50: number;
  readonly p95: number;
}

/** Returns the excess over the targets of an SLO, relative to each; 0 if both are kept. */
export function targetExcess(
  { p50Ms, p95Ms }: Pick<Slo, "p50Ms" | "p95Ms">,
  { p50, p95 }: Percentiles,
): number {
  const over = (found: number, most = Number.POSITIVE_INFINITY): number =>
    Math.max(0, found / most - 1);
  return over(p50, p50Ms) + over(p95, p95Ms);
}
