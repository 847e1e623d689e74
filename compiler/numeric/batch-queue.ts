/** A central first-come-first-served queue whose replicas take batches, from sorted arrivals to sorted departures, without an event heap. */

/** Room for the batches that run at a time; grown by the caller, a power of two. */
export interface BatchRing {
  readonly doneMs: Float64Array;
  readonly from: Uint32Array;
  readonly to: Uint32Array;
}

export function batchRing(replicas: number): BatchRing {
  const capacity = 2 ** Math.ceil(Math.log2(Math.max(1, replicas)));
  return {
    doneMs: new Float64Array(capacity),
    from: new Uint32Array(capacity),
    to: new Uint32Array(capacity),
  };
}

/**
 * Serves a sorted sequence of queries. A replica that is idle takes what waits, `maxBatch` at most, at once; a batch of b takes `batchMs[b − 1]`.
 *
 * All that happens at one time happens before batches start then. Batches that are done at one time leave in the order they started. A batch is a
 * run of the queue and few overtake each other, so running ones are a short sorted ring.
 * @param count queries. @param readyMs (count,), non-decreasing. @param request (count,), names of the queries. @param hopMs added to every ready time.
 * @param batchMs (maxBatch,), above 0, non-decreasing. @param deadlineMs by name. @param restMs what comes after at least.
 * @param missLimit stops once more queries than this cannot meet their deadline any more; Infinity to go on.
 * @param ring capacity at least `replicas`. @param doneMs (count,), out, non-decreasing. @param doneRequest (count,), out.
 * @param used out: largest batch, most replicas at work. @returns queries that are done, with the rest, after their deadline; beyond the limit the outputs are in parts.
 */
export function serveBatches(
  count: number,
  readyMs: Float64Array,
  request: Uint32Array,
  hopMs: number,
  replicas: number,
  maxBatch: number,
  batchMs: Float64Array,
  deadlineMs: Float64Array,
  restMs: number,
  missLimit: number,
  ring: BatchRing,
  doneMs: Float64Array,
  doneRequest: Uint32Array,
  used: Uint32Array,
): number {
  const ringDoneMs = ring.doneMs;
  const ringFrom = ring.from;
  const ringTo = ring.to;
  const mask = ringDoneMs.length - 1;
  let head = 0;
  let size = 0;
  let firstDoneMs = Number.POSITIVE_INFINITY;
  let nowMs = Number.NEGATIVE_INFINITY;
  let next = 0;
  let nextMs = count > 0 ? readyMs[0]! + hopMs : Number.POSITIVE_INFINITY;
  let left = 0;
  let misses = 0;
  let largest = 0;
  let most = 0;
  for (;;) {
    if (nextMs > nowMs) nowMs = nextMs;
    if (size === replicas && next < count && firstDoneMs > nowMs) nowMs = firstDoneMs;
    while (firstDoneMs <= nowMs && size > 0) {
      const to = ringTo[head]!;
      const withRestMs = firstDoneMs + restMs;
      for (let position = ringFrom[head]!; position < to; position++) {
        const name = request[position]!;
        doneMs[left] = firstDoneMs;
        doneRequest[left++] = name;
        if (withRestMs > deadlineMs[name]!) misses++;
      }
      head = (head + 1) & mask;
      size--;
      firstDoneMs = size > 0 ? ringDoneMs[head]! : Number.POSITIVE_INFINITY;
    }
    if (next === count || misses > missLimit) break;
    const limit = next + maxBatch < count ? next + maxBatch : count;
    const from = next++;
    nextMs = next < count ? readyMs[next]! + hopMs : Number.POSITIVE_INFINITY;
    while (next < limit && nextMs <= nowMs) {
      next++;
      nextMs = next < count ? readyMs[next]! + hopMs : Number.POSITIVE_INFINITY;
    }
    const batch = next - from;
    const batchDoneMs = nowMs + batchMs[batch - 1]!;
    let slot = (head + size) & mask;
    // Few batches overtake another.
    for (let behind = size; behind > 0; behind--) {
      const before = (slot - 1) & mask;
      if (ringDoneMs[before]! <= batchDoneMs) break;
      ringDoneMs[slot] = ringDoneMs[before]!;
      ringFrom[slot] = ringFrom[before]!;
      ringTo[slot] = ringTo[before]!;
      slot = before;
    }
    ringDoneMs[slot] = batchDoneMs;
    ringFrom[slot] = from;
    ringTo[slot] = next;
    if (batchDoneMs < firstDoneMs) firstDoneMs = batchDoneMs;
    size++;
    if (size > most) most = size;
    if (batch > largest) largest = batch;
  }
  used[0] = largest;
  used[1] = most;
  return misses;
}
