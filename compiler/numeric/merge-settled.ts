/**
 * Which queries of a join become ready in what order, from the sorted ends of what it waits for.
 */

interface Settled {
  readonly count: number;
  /** Non-decreasing, ms. */
  readonly atMs: Float64Array;
  readonly request: Uint32Array;
}

/**
 * Merges sorted sequences by time, then by their order; a request is put out when the last one that
 * it waits for has come.
 *
 * @param waitsFor by request: bit i is set where it waits for sequence i.
 * @param pending by request, how many; counted down to 0.
 * @param out its arrays are filled, room for one more than the requests that wait for anything.
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
    // The sequence's part that is before all others comes out; if times are equal, only the first
    // sequence's comes at once.
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
