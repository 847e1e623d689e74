/** Loops over the queries of a stage in the order in which something happens to them. */

/** The numbers from 0 on, shape (count,). */
export function upTo(count: number): Uint32Array {
  const numbers = new Uint32Array(count);
  for (let number = 0; number < count; number++) numbers[number] = number;
  return numbers;
}

/** Those of the numbers from 0 on that are marked. */
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
 * @param keptMs with room for one more than are kept.
 * @returns how many.
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
  // Chance decides, so a branch here would be guessed wrong every other time.
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
 * @returns how many had no mark.
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
 * Raises to each request's time since its start where that is longer.
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
 * Queries that are after their deadline once `moreMs` have passed.
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
 * Puts out, for each row, those that are made of it, in their order and at its time.
 * @param first by row, the first of those and, for the next, where they end.
 * @param madeMs with room for all of them.
 * @returns how many.
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
 * Requests with a query that is after its deadline once `moreMs` have passed.
 * @param deadlineMs by row. @param requestByRow of each row its request.
 * @param stamp by request; those that are late get `mark`, which none has before.
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
