/**
 * Lower bound on late queries: those of a fluid queue that works on one query at a time, each for
 * `workMs`, preemptively. No batching and no number of replicas does better if each query takes at
 * least `workMs` of all of them together.
 *
 * Queries are alike and their deadlines come in release order, so dropping a query when its miss is
 * found drops the fewest.
 * @param count queries.
 * @param releaseMs (count,), non-decreasing.
 * @param windowMs from a release to its deadline.
 * @param missLimit stops beyond it.
 */
export function fluidMisses(
  count: number,
  releaseMs: Float64Array,
  windowMs: number,
  workMs: number,
  missLimit: number,
): number {
  if (!(workMs <= windowMs)) return count;
  let freeMs = Number.NEGATIVE_INFINITY;
  let misses = 0;
  for (let query = 0; query < count; query++) {
    const atMs = releaseMs[query]!;
    const doneMs = (freeMs > atMs ? freeMs : atMs) + workMs;
    if (doneMs > atMs + windowMs) {
      if (++misses > missLimit) break;
    } else freeMs = doneMs;
  }
  return misses;
}
