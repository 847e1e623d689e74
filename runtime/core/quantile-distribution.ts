/**
 * A distribution known by three quantiles and its mean: an inverse distribution function that is
 * linear between knots.
 *
 * Nothing was measured beyond p99: the maximum is put a quarter of p99 − p95 above it. The minimum
 * lies between 0 and p50, where it makes the mean the measured one, if one of these values does.
 */

/** Probabilities of the knots. */
const KNOT_PROBABILITY = Float64Array.of(0, 0.5, 0.95, 0.99, 1);

export const KNOT_COUNT = 5;

/**
 * Values at the knots, ascending: minimum, p50, p95, p99, maximum. Quantiles that descend are
 * raised to the one before.
 */
export function quantileKnots(p50: number, p95: number, p99: number, mean: number): Float64Array {
  const second = Math.max(p50, p95);
  const third = Math.max(second, p99);
  const last = third + (third - second) / 4;
  const meanAboveMedian = 0.225 * (p50 + second) + 0.02 * (second + third) + 0.005 * (third + last);
  const first = Math.min(Math.max(4 * (mean - meanAboveMedian) - p50, 0), p50);
  return Float64Array.of(first, p50, second, third, last);
}

/** The quantile of a probability in [0, 1). @param knots, from as `probabilityAtMost`. */
export function quantileAt(knots: Float64Array, from: number, probability: number): number {
  let piece = 0;
  while (probability >= KNOT_PROBABILITY[piece + 1]!) piece++;
  const low = KNOT_PROBABILITY[piece]!;
  const lowValue = knots[from + piece]!;
  const rise = knots[from + piece + 1]! - lowValue;
  return lowValue + (rise * (probability - low)) / (KNOT_PROBABILITY[piece + 1]! - low);
}

/**
 * P[X ≤ x].
 * @param knots (…, KNOT_COUNT).
 * @param from index of the first knot of the distribution.
 */
export function probabilityAtMost(knots: Float64Array, from: number, x: number): number {
  if (x < knots[from]!) return 0;
  for (let knot = KNOT_COUNT - 1; knot > 0; knot--) {
    const low = knots[from + knot - 1]!;
    if (x < low) continue;
    const high = knots[from + knot]!;
    if (x >= high) return KNOT_PROBABILITY[knot]!;
    const share = (x - low) / (high - low);
    return (
      KNOT_PROBABILITY[knot - 1]! + share * (KNOT_PROBABILITY[knot]! - KNOT_PROBABILITY[knot - 1]!)
    );
  }
  return 0;
}

/**
 * E[X | X between its quantiles of probability low and high], low < high.
 * @param knots, from as `probabilityAtMost`.
 */
export function meanBetweenQuantiles(
  knots: Float64Array,
  from: number,
  low: number,
  high: number,
): number {
  let sum = 0;
  for (let knot = 0; knot + 1 < KNOT_COUNT; knot++) {
    const start = KNOT_PROBABILITY[knot]!;
    const end = KNOT_PROBABILITY[knot + 1]!;
    const a = Math.max(low, start);
    const b = Math.min(high, end);
    if (a >= b) continue;
    const slope = (knots[from + knot + 1]! - knots[from + knot]!) / (end - start);
    sum += (b - a) * (knots[from + knot]! + slope * ((a + b) / 2 - start));
  }
  return sum / (high - low);
}
