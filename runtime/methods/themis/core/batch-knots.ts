/** Quantiles of batch times at each number of cores, relative to the times that plans assume. */
import type { LatencyByCores } from "../../../bundle/schema.ts";
import { KNOT_COUNT, quantileKnots } from "../../../core/quantile-distribution.ts";

/**
 * [maxCores, maxBatch, KNOT_COUNT]: quantiles of the measured point that is nearest to a cell,
 * relative to its p95. Null where the profile measured none.
 *
 * The nearest has the same cores, or the nearest that were measured, and of those the nearest
 * batch; nearness is a ratio, and of two that are as near the smaller is taken.
 */
export function batchKnotsOf({ ms, points, quantiles }: LatencyByCores): Float64Array | null {
  if (quantiles === undefined) return null;
  const [maxCores = 0, maxBatch = 0] = ms.shape;
  const measured = Array.from({ length: points.shape[0] ?? 0 }, (_, point) => {
    const [batch = 0, cores = 0] = points.data.subarray(3 * point);
    const [p50 = 0, p95 = 0, p99 = 0, mean = 0] = quantiles.data.subarray(4 * point);
    return { batch, cores, knots: quantileKnots(p50 / p95, 1, p99 / p95, mean / p95) };
  });
  const knots = new Float64Array(maxCores * maxBatch * KNOT_COUNT);
  for (let cores = 1; cores <= maxCores; cores++) {
    const near = nearest(measured, cores, (one) => one.cores);
    const row = measured.filter((one) => one.cores === near?.cores);
    for (let batch = 1; batch <= maxBatch; batch++) {
      const cell = (cores - 1) * maxBatch + batch - 1;
      knots.set(nearest(row, batch, (one) => one.batch)?.knots ?? [], cell * KNOT_COUNT);
    }
  }
  return knots;
}

/** @param all ascending by the compared value. */
function nearest<Point>(
  all: readonly Point[],
  wanted: number,
  sizeOf: (point: Point) => number,
): Point | undefined {
  const apart = (point: Point) => Math.max(sizeOf(point) / wanted, wanted / sizeOf(point));
  let best = all[0];
  for (const point of all) if (best !== undefined && apart(point) < apart(best)) best = point;
  return best;
}
