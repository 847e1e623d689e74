/**
 * Sampling error of the difference of two promises that simulations gave, as if their queries were
 * independent draws. Queries of one burst are not, so the true error is rather larger.
 */

import type { Figures, Sample } from "../methods/level-promises.ts";
import { proportionChange, Z } from "../numeric/proportion-interval.ts";
import type { LevelFigure } from "../spec/schema/promise-figures.ts";

const QUANTILES: Partial<Record<LevelFigure, number>> = { p50: 0.5, p95: 0.95, p99: 0.99 };
const RATES: readonly LevelFigure[] = ["violations", "accuracy", "accuracyPerQuery"];

/** Promises and the simulation they are from; without one they are exact. */
export interface Sampled {
  readonly figures: Figures;
  readonly sample?: Sample;
}

/** 99 % interval of the new figure minus the old one; null if it has no sampling error. */
export function changeInterval(
  figure: LevelFigure,
  before: Sampled,
  after: Sampled,
): readonly [number, number] | null {
  const [a, b] = [before.figures[figure], after.figures[figure]];
  if (a === undefined || b === undefined) return null;
  if (before.sample === undefined && after.sample === undefined) return null;
  const quantile = QUANTILES[figure];
  if (quantile !== undefined) {
    const half = Z * Math.hypot(quantileError(quantile, before), quantileError(quantile, after));
    return half > 0 ? [b - a - half, b - a + half] : null;
  }
  return RATES.includes(figure) ? rateInterval(figure, before, after) : null;
}

/** Accuracies are means of scores from 0, a late query, to the accuracy of the best variant. */
function rateInterval(
  figure: LevelFigure,
  before: Sampled,
  after: Sampled,
): readonly [number, number] | null {
  const [best, countA, countB] = [bestOf(figure, before, after), countOf(before), countOf(after)];
  if (best === null || Math.min(countA, countB) === Number.POSITIVE_INFINITY) return null;
  const share = (one: Sampled): number => Math.min(1, rateOf(figure, one) / best);
  const { lower, upper } = proportionChange(share(before), countA, share(after), countB);
  return [best * lower, best * upper];
}

/** Null for an accuracy that is planned and not simulated. */
function bestOf(figure: LevelFigure, before: Sampled, after: Sampled): number | null {
  if (figure === "violations") return 1;
  const best = Math.max(before.sample?.bestAccuracy ?? 0, after.sample?.bestAccuracy ?? 0);
  return best > 0 ? best : null;
}

/** Counted violations, not the upper bound that is promised. */
function rateOf(figure: LevelFigure, { figures, sample }: Sampled): number {
  if (figure === "violations" && sample?.violations !== undefined) {
    return sample.violations / sample.queries;
  }
  return figures[figure] ?? 0;
}

function countOf({ sample }: Sampled): number {
  if (sample === undefined || sample.hasExactRates === true) return Number.POSITIVE_INFINITY;
  return sample.queries;
}

/**
 * Standard error of a percentile, sqrt(q (1 - q) / n) over the density there. The density is that
 * of an exponential tail through the promised p50 and p99, ms. Source: David, Nagaraja, "Order
 * Statistics", 3rd edition, 2003, section 10.2.
 */
function quantileError(quantile: number, { figures: { p50, p99 }, sample }: Sampled): number {
  if (sample === undefined || p50 === undefined || p99 === undefined) return 0;
  const meanMs = (p99 - p50) / Math.log(0.5 / 0.01);
  return meanMs * Math.sqrt(quantile / ((1 - quantile) * sample.queries));
}
