/** Loops over the queries of a stage in the order of their events. */

/** The integers 0 … count − 1, shape (count,). */
export function upTo(count: number): Uint32Array {
  const numbers = new Uint32Array(count);
  for (let number = 0; number < count; number++) numbers[number] = number;
  return numbers;
}

/** The marked integers below `count`. */
export function marked(mark: Uint8Array, count: number): Uint32Array {
  const numbers = new Uint32Array(count);
  let found = 0;
  for (let number = 0; number < mark.length; number++) {
    if (mark[number] === 1) numbers[found++] = number;
  }
  return numbers.subarray(0, found);
}

/**
 * Keeps the queries whose request is marked.
 * @param mark by request, 0 or 1.
 * @param keptMs with one extra element.
 * @returns how many are kept.
 */
export function keepMarked(
  count: number,
  atMs: Float64Array,
  request: Uint32Array,
  mark: Uint8Array,
  keptMs: Float64Array,
  keptRequest: Uint32Array,
): number {
  let kept = 0;
  // Branch-free: the outcome is random, so a branch would be mispredicted half of the time.
  for (let position = 0; position < count; position++) {
    const name = request[position]!;
    keptMs[kept] = atMs[position]!;
    keptRequest[kept] = name;
    kept += mark[name]!;
  }
  return kept;
}

/**
 * Marks the requests whose queries are after their deadline.
 * @param deadlineMs by request.
 * @returns how many were not marked before.
 */
export function markLate(
  count: number,
  atMs: Float64Array,
  request: Uint32Array,
  deadlineMs: Float64Array,
  mark: Uint8Array,
): number {
  let marked = 0;
  for (let position = 0; position < count; position++) {
    const name = request[position]!;
    if (!(atMs[position]! > deadlineMs[name]!) || mark[name] === 1) continue;
    mark[name] = 1;
    marked++;
  }
  return marked;
}

/**
 * Updates the maximum of each request's time since its start.
 * @param startMs by request.
 * @param longestMs by request, in and out.
 */
export function raiseToLongest(
  count: number,
  atMs: Float64Array,
  request: Uint32Array,
  startMs: Float64Array,
  longestMs: Float64Array,
): void {
  for (let position = 0; position < count; position++) {
    const name = request[position]!;
    const ms = atMs[position]! - startMs[name]!;
    if (ms > longestMs[name]!) longestMs[name] = ms;
  }
}

/**
 * Counts queries that are after their deadline once `moreMs` have passed.
 * @param deadlineMs by request.
 */
export function countLate(
  count: number,
  atMs: Float64Array,
  request: Uint32Array,
  moreMs: number,
  deadlineMs: Float64Array,
): number {
  let late = 0;
  for (let position = 0; position < count; position++) {
    if (atMs[position]! + moreMs > deadlineMs[request[position]!]!) late++;
  }
  return late;
}

/**
 * Writes, for each row, the rows made from it, in their order and at its time.
 * @param first by row: index of its first made row; the next element is the end.
 * @param madeMs with space for all of them.
 * @returns how many were written.
 */
export function spreadRows(
  count: number,
  atMs: Float64Array,
  row: Uint32Array,
  first: Uint32Array,
  madeMs: Float64Array,
  madeRow: Uint32Array,
): number {
  let made = 0;
  for (let position = 0; position < count; position++) {
    const name = row[position]!;
    const ms = atMs[position]!;
    const end = first[name + 1]!;
    for (let one = first[name]!; one < end; one++) {
      madeMs[made] = ms;
      madeRow[made++] = one;
    }
  }
  return made;
}

/**
 * Counts requests with a query that is after its deadline once `moreMs` have passed.
 * @param deadlineMs by row.
 * @param requestByRow request of each row.
 * @param stamp by request; late ones get `mark`, a value not used before.
 */
export function countLateRequests(
  count: number,
  atMs: Float64Array,
  row: Uint32Array,
  moreMs: number,
  deadlineMs: Float64Array,
  requestByRow: Uint32Array,
  stamp: Uint32Array,
  mark: number,
): number {
  let late = 0;
  for (let position = 0; position < count; position++) {
    const name = row[position]!;
    if (!(atMs[position]! + moreMs > deadlineMs[name]!)) continue;
    const request = requestByRow[name]!;
    if (stamp[request] === mark) continue;
    stamp[request] = mark;
    late++;
  }
  return late;
}
