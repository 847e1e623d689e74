/** Which rows become ready in what order that wait for several rows each, of whatever tasks. */

export interface Ended {
  readonly count: number;
  /** Non-decreasing, ms. */
  readonly atMs: Float64Array;
  readonly row: Uint32Array;
  /** By row, the one that waits for it; −1 for none. */
  readonly waiter: Int32Array;
}

/**
 * Merges sorted sequences by time, then by their order; a row is put out when the last one that it
 * waits for has come.
 *
 * @param pending by row that waits, for how many; counted down to 0.
 * @param out its arrays are filled, room for one more than the rows that wait for anything.
 * @returns how many were put out.
 */
export function mergeGathered(
  sequences: readonly Ended[],
  pending: Uint32Array,
  out: { readonly atMs: Float64Array; readonly row: Uint32Array },
): number {
  const heads = new Uint32Array(sequences.length);
  let ready = 0;
  for (;;) {
    let first = -1;
    let firstMs = Number.POSITIVE_INFINITY;
    for (let sequence = 0; sequence < sequences.length; sequence++) {
      const { count, atMs } = sequences[sequence]!;
      const head = heads[sequence]!;
      if (head === count || !(atMs[head]! < firstMs)) continue;
      first = sequence;
      firstMs = atMs[head]!;
    }
    if (first < 0) return ready;
    const { row, waiter } = sequences[first]!;
    const waits = waiter[row[heads[first]!++]!]!;
    if (waits < 0 || --pending[waits]! > 0) continue;
    out.atMs[ready] = firstMs;
    out.row[ready++] = waits;
  }
}
