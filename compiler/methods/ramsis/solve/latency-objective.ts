/**
 * The worth of latency: a policy maximises its accuracy per query less `price` · E[latency] / SLO,
 * over the queries that are served, from arrival to answer. Of classes the SLO is the longest.
 */
import type { RamsisOptions } from "stratagem-runtime/internal/bundle/schema";

export interface LatencyObjective {
  /** In accuracy per SLO of mean latency. */
  readonly price: number;
  /** Accuracy per query that lower latency may cost at most, compared with the best policy found. */
  readonly mostAccuracy: number;
}

/** Small enough to decide only between policies that are nearly as accurate as each other. */
const DEFAULT_PRICE = 1e-3;
/**
 * A price that nobody asked for costs at most 1e-4 of accuracy; a little less, for samples differ.
 */
const MOST_ACCURACY = 8e-5;

export function latencyObjective({
  latencyPrice,
}: Pick<RamsisOptions, "latencyPrice">): LatencyObjective {
  return latencyPrice === undefined
    ? { price: DEFAULT_PRICE, mostAccuracy: MOST_ACCURACY }
    : { price: latencyPrice, mostAccuracy: Number.POSITIVE_INFINITY };
}
