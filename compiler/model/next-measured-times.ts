/**
 * Service times of batch sizes that were not measured: those of the next larger measured size,
 * since a batch can be padded to it.
 */
import type { MeasuredRow } from "./service-time.ts";

/**
 * Service time for batches 1 … the largest row's, ms, non-decreasing.
 * @param rows ascending in batch, at least one.
 * Source: a conservative reading of InferLine §4.1, whose prototype brackets.
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
