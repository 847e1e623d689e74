/** Order in which rows become ready that each wait for several rows, of any tasks. */

export interface Ended {
  readonly count: number;
  /** Non-decreasing, ms. */
  readonly atMs: Float64Array;
  readonly row: Uint32Array;
  /** Per row, the row that waits for it; −1 for none. */
  readonly waiter: Int32Array;
}

/**
 * Merges sequences that are sorted by time, ties by sequence; writes a row when the last row that
 * it waits for has come.
 *
 * @param pending per waiting row, the number it waits for; counted down to 0.
 * @param out its arrays are filled; they need one extra element.
 * @returns how many rows were written.
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
