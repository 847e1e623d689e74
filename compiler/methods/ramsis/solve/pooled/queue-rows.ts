/** Which queue lengths have a row of their own in a pooled table. */

/**
 * Every length up to the largest batch, where one query more or less is another batch; beyond it
 * lengths that are half a standard deviation of a Poisson count apart, and at last two percent. So
 * a table has some hundred rows, whether ten queries wait or a million.
 *
 * @param capacity queries that the queue holds at most, the last row.
 * @returns ascending from 1, shape (rowCount,).
 */
export function queueRows(capacity: number, maxBatch: number): Uint32Array {
  const rows: number[] = [];
  for (let queued = 1; queued < capacity; queued = rowAfter(queued, maxBatch)) rows.push(queued);
  rows.push(capacity);
  return Uint32Array.from(rows);
}

/** The least length with a row that is not below a capacity, whatever the capacity. */
export function rowFrom(capacity: number, maxBatch: number): number {
  let queued = 1;
  while (queued < capacity) queued = rowAfter(queued, maxBatch);
  return queued;
}

function rowAfter(queued: number, maxBatch: number): number {
  const apart = Math.max(Math.sqrt(queued) / 2, queued / 50);
  return queued + (queued < maxBatch ? 1 : Math.max(1, Math.floor(apart)));
}
