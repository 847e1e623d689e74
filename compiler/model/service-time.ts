/**
 * Interpolates the batch service times of a variant from measured rows to every batch size that
 * solvers use.
 */

export interface MeasuredRow {
  readonly batch: number;
  readonly ms: number;
}

/**
 * Service time for batches 1 … maxBatch, shape (maxBatch,), ms. Linear between measured sizes;
 * beyond the last one on the least-squares line through all of them; below the first one as the
 * first; then made non-decreasing, since a batch can always be padded to a larger one. A single
 * measured row gives no slope, so time is assumed proportional to the batch.
 *
 * @param rows ascending in batch, at least one.
 */
export function serviceTimesByBatch(rows: readonly MeasuredRow[], maxBatch: number): Float64Array {
  const line = leastSquaresLine(rows);
  const times = new Float64Array(maxBatch);
  let floorMs = 0;
  for (let batch = 1; batch <= maxBatch; batch++) {
    const after = rows.find((row) => row.batch >= batch);
    const before = rows.findLast((row) => row.batch <= batch);
    let ms: number;
    if (after === undefined) ms = line.interceptMs + line.slopeMs * batch;
    else if (before === undefined || before === after) ms = after.ms;
    else {
      const fraction = (batch - before.batch) / (after.batch - before.batch);
      ms = before.ms + fraction * (after.ms - before.ms);
    }
    floorMs = Math.max(floorMs, ms);
    times[batch - 1] = floorMs;
  }
  return times;
}

function leastSquaresLine(rows: readonly MeasuredRow[]): { interceptMs: number; slopeMs: number } {
  const meanBatch = mean(rows.map((row) => row.batch));
  const meanMs = mean(rows.map((row) => row.ms));
  if (rows.length === 1) return { interceptMs: 0, slopeMs: meanMs / meanBatch };
  const slopeMs =
    mean(rows.map((row) => (row.batch - meanBatch) * (row.ms - meanMs))) /
    mean(rows.map((row) => (row.batch - meanBatch) ** 2));
  return { interceptMs: meanMs - slopeMs * meanBatch, slopeMs };
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/**
 * Service time for batches 1 … the largest row's, ms, non-decreasing: that of the next larger size
 * that was measured, since a batch can be padded to it.
 * @param rows ascending in batch, at least one. Source: the page's conservative reading of
 * InferLine §4.1, whose prototype brackets.
 */
export function nextMeasuredTimes(rows: readonly MeasuredRow[]): Float64Array {
  const times = new Float64Array(rows.at(-1)?.batch ?? 0);
  let from = 0;
  let floorMs = 0;
  for (const { batch, ms } of rows) {
    floorMs = Math.max(floorMs, ms);
    times.fill(floorMs, from, batch);
    from = batch;
  }
  return times;
}
