/**
 * A central first-come-first-served queue whose replicas take batches: sorted arrivals in, sorted
 * departures out, without an event heap.
 */

/** Ring buffer with the last batch of each replica; its capacity is a power of two. */
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
 * Serves a sorted sequence of queries. An idle replica immediately takes the waiting queries, at
 * most `maxBatch`; a batch of b takes `batchMs[b − 1]`.
 *
 * All events at one time come before batches start at that time. Batches that end at the same time
 * leave in the order they started. A batch is a run of the queue and few overtake each other, so
 * the last batches of the replicas form a ring sorted by their ends. Its first entry belongs to the
 * replica that has been idle the longest, or that will be idle first; a new batch replaces it, and
 * the old one is written to the output then: no other batch can end before it.
 * @param count queries.
 * @param readyMs (count,), non-decreasing.
 * @param request (count,), ids of the queries.
 * @param hopMs added to every ready time.
 * @param batchMs (maxBatch,), above 0, non-decreasing.
 * @param deadlineMs by id.
 * @param restMs least time after this task.
 * @param missLimit stops once more queries than this cannot meet their deadline; Infinity for no
 * limit.
 * @param ring capacity at least `replicas`.
 * @param doneMs (count,), out, non-decreasing.
 * @param doneRequest (count,), out.
 * @param used out: largest batch, and whether all replicas were ever busy at once.
 * @returns queries that end, with the rest, after their deadline; beyond the limit the outputs are
 * incomplete.
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
  for (let slot = 0; slot < replicas; slot++) {
    ringDoneMs[slot] = Number.NEGATIVE_INFINITY;
    ringFrom[slot] = 0;
    ringTo[slot] = 0;
  }
  let head = 0;
  let tail = replicas & mask;
  let nowMs = Number.NEGATIVE_INFINITY;
  let next = 0;
  let left = 0;
  let misses = 0;
  let largest = 0;
  let allAtWork = 0;
  while (next < count) {
    const idleMs = ringDoneMs[head]!;
    const nextMs = readyMs[next]! + hopMs;
    if (nextMs > nowMs) nowMs = nextMs;
    if (idleMs > nowMs) nowMs = idleMs;
    const to = ringTo[head]!;
    const withRestMs = idleMs + restMs;
    for (let position = ringFrom[head]!; position < to; position++) {
      const name = request[position]!;
      doneMs[left] = idleMs;
      doneRequest[left++] = name;
      if (withRestMs > deadlineMs[name]!) misses++;
    }
    if (misses > missLimit) return misses;
    const from = next++;
    const limit = from + maxBatch < count ? from + maxBatch : count;
    while (next < limit && readyMs[next]! + hopMs <= nowMs) next++;
    const batch = next - from;
    const batchDoneMs = nowMs + batchMs[batch - 1]!;
    head = (head + 1) & mask;
    let slot = tail;
    tail = (tail + 1) & mask;
    while (slot !== head) {
      const before = (slot - 1) & mask;
      const beforeMs = ringDoneMs[before]!;
      if (beforeMs <= batchDoneMs) break;
      ringDoneMs[slot] = beforeMs;
      ringFrom[slot] = ringFrom[before]!;
      ringTo[slot] = ringTo[before]!;
      slot = before;
    }
    ringDoneMs[slot] = batchDoneMs;
    ringFrom[slot] = from;
    ringTo[slot] = next;
    if (ringDoneMs[head]! > nowMs) allAtWork = 1;
    if (batch > largest) largest = batch;
  }
  for (let place = 0; place < replicas; place++) {
    const slot = (head + place) & mask;
    const lastMs = ringDoneMs[slot]!;
    const to = ringTo[slot]!;
    for (let position = ringFrom[slot]!; position < to; position++) {
      const name = request[position]!;
      doneMs[left] = lastMs;
      doneRequest[left++] = name;
      if (lastMs + restMs > deadlineMs[name]!) misses++;
    }
  }
  used[0] = largest;
  used[1] = allAtWork;
  return misses;
}
