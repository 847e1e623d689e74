/**
 * Number of poor partitions after which a range is sorted instead: with the median of three as
 * pivot, each about halves it.
 */
const MAX_PARTITIONS = 64;

/**
 * Selects by rank: puts the entry of a rank where sorting would put it, entries not above it before
 * and entries not below it behind; expected time is linear in the range.
 * @param values no NaN; rearranged in [start, end).
 * @param rank index within the range.
 * @returns the entry.
 * Source: Hoare, "Algorithm 65: Find", CACM 4(7), 1961.
 */
export function selectRank(values: Float64Array, start: number, end: number, rank: number): number {
  let low = start;
  let high = end - 1;
  for (let partition = 0; low < high; partition++) {
    if (partition === MAX_PARTITIONS) {
      values.subarray(low, high + 1).sort();
      break;
    }
    const pivot = middleOf(values[low]!, values[(low + high) >>> 1]!, values[high]!);
    let left = low;
    let right = high;
    while (left <= right) {
      while (values[left]! < pivot) left++;
      while (values[right]! > pivot) right--;
      if (left > right) break;
      const swapped = values[left]!;
      values[left] = values[right]!;
      values[right] = swapped;
      left++;
      right--;
    }
    // Between right and left, both exclusive, all equal the pivot.
    if (rank <= right) high = right;
    else if (rank >= left) low = left;
    else break;
  }
  return values[rank]!;
}

function middleOf(a: number, b: number, c: number): number {
  return Math.max(Math.min(a, b), Math.min(Math.max(a, b), c));
}
