/** Order in which the queries of a join become ready, from the sorted ends of the tasks before. */

interface Settled {
  readonly count: number;
  /** Non-decreasing, ms. */
  readonly atMs: Float64Array;
  readonly request: Uint32Array;
}

/**
 * Merges sequences that are sorted by time, ties by sequence; writes a request when the last end
 * that it waits for has come.
 *
 * @param waitsFor by request: bit i is set if it waits for sequence i.
 * @param pending by request, the number it waits for; counted down to 0.
 * @param out its arrays are filled; they need one extra element.
 */
export function mergeSettled(
  sequences: readonly Settled[],
  waitsFor: Uint32Array,
  pending: Uint8Array,
  out: { readonly atMs: Float64Array; readonly request: Uint32Array },
): number {
  const { atMs, request } = out;
  const heads = new Uint32Array(sequences.length);
  const nextMs = Float64Array.from(sequences, headMs);
  let ready = 0;
  for (;;) {
    let first = 0;
    let firstMs = nextMs[0]!;
    let secondMs = Number.POSITIVE_INFINITY;
    for (let sequence = 1; sequence < nextMs.length; sequence++) {
      const ms = nextMs[sequence]!;
      if (ms < firstMs) {
        secondMs = firstMs;
        first = sequence;
        firstMs = ms;
      } else if (ms < secondMs) secondMs = ms;
    }
    if (firstMs === Number.POSITIVE_INFINITY) return ready;
    const { count, atMs: times, request: names } = sequences[first]!;
    let head = heads[first]!;
    // Copies the part of the sequence that is before all others; at equal times only the first
    // sequence's.
    do {
      const name = names[head]!;
      const isAwaited = (waitsFor[name]! >>> first) & 1;
      const left = pending[name]! - isAwaited;
      pending[name] = left;
      atMs[ready] = firstMs;
      request[ready] = name;
      ready += left === 0 ? isAwaited : 0;
      head++;
      firstMs = head < count ? times[head]! : Number.POSITIVE_INFINITY;
    } while (firstMs < secondMs);
    heads[first] = head;
    nextMs[first] = firstMs;
  }
}

function headMs({ count, atMs }: Settled): number {
  return count === 0 ? Number.POSITIVE_INFINITY : atMs[0]!;
}
