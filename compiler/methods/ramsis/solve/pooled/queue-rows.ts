/** Queue lengths that have their own row in a pooled table. */

/**
 * Every length up to the largest batch, where one query more or less is another batch; beyond it
 * lengths that are half a standard deviation of a Poisson count apart, and finally two percent. So
 * a table has some hundred rows, for ten waiting queries or a million.
 *
 * @param capacity of the queue, the last row.
 * @returns ascending from 1, shape (rowCount,).
 */
export function queueRows(capacity: number, maxBatch: number): Uint32Array {
  const rows: number[] = [];
  for (let queued = 1; queued < capacity; queued = rowAfter(queued, maxBatch)) rows.push(queued);
  rows.push(capacity);
  return Uint32Array.from(rows);
}

/** The least length with a row that is at least a capacity, for any capacity. */
export function rowFrom(capacity: number, maxBatch: number): number {
  let queued = 1;
  while (queued < capacity) queued = rowAfter(queued, maxBatch);
  return queued;
}

function rowAfter(queued: number, maxBatch: number): number {
  const apart = Math.max(Math.sqrt(queued) / 2, queued / 50);
  return queued + (queued < maxBatch ? 1 : Math.max(1, Math.floor(apart)));
}
