/** Which queries of a join become ready in what order, from the sorted ends of what it waits for. */

export interface Settled {
  readonly count: number;
  /** Non-decreasing, ms. */
  readonly atMs: Float64Array;
  readonly request: Uint32Array;
}

/**
 * Merges sorted sequences by time, then by their order; a request is put out when the last one that it waits for has come.
 *
 * @param waitsFor by request: bit i is set where it waits for sequence i. @param pending by request, how many; counted down to 0.
 * @param out its arrays are filled, room for every request that waits for anything.
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
    for (let sequence = 1; sequence < nextMs.length; sequence++) {
      if (nextMs[sequence]! < firstMs) {
        first = sequence;
        firstMs = nextMs[sequence]!;
      }
    }
    if (firstMs === Number.POSITIVE_INFINITY) return ready;
    const { count, atMs: times, request: names } = sequences[first]!;
    const name = names[heads[first]!]!;
    const head = ++heads[first]!;
    nextMs[first] = head < count ? times[head]! : Number.POSITIVE_INFINITY;
    if (((waitsFor[name]! >>> first) & 1) === 0) continue;
    if (--pending[name]! > 0) continue;
    atMs[ready] = firstMs;
    request[ready++] = name;
  }
}

function headMs({ count, atMs }: Settled): number {
  return count === 0 ? Number.POSITIVE_INFINITY : atMs[0]!;
}
