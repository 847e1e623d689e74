/** Pareto frontiers of (cores, latency), and their combination in series and in parallel. */

const ROOM = 32;
/** Sums with a wider range than this are merged pair by pair. */
const MOST_BUCKETS = 2 ** 16;

/**
 * Points by ascending cores, integers, and strictly falling latency: no offered point was as good
 * in both. Of equal points the first offered stays.
 */
export class Frontier {
  /** Points are at `start` and up to `count`. */
  start = 0;
  count = 0;
  cores = new Float64Array(ROOM);
  latencyMs = new Float64Array(ROOM);
  /**
   * Origin of a point: for a task's point its batch and the cores of one instance, for a merged one
   * the indices of its two parts.
   */
  first = new Int32Array(ROOM);
  second = new Int32Array(ROOM);
  /** Constant that is added to every offered latency. */
  addedMs = 0;
  /** Longest latency that is kept, including `addedMs`. */
  limitMs = Number.POSITIVE_INFINITY;

  clear(addedMs: number, limitMs: number): void {
    this.start = 0;
    this.count = 0;
    this.addedMs = addedMs;
    this.limitMs = limitMs;
  }

  /**
   * Adds a point unless an existing one is as good; removes the points it dominates. NaN and
   * latencies above the limit are not kept.
   */
  offer(cores: number, latencyMs: number, first: number, second: number): void {
    const totalMs = latencyMs + this.addedMs;
    if (!(totalMs <= this.limitMs)) return;
    const { count, cores: coresOf, latencyMs: msOf } = this;
    let above = count;
    while (above > 0 && coresOf[above - 1]! > cores) above--;
    let from = above;
    if (above > 0) {
      if (msOf[above - 1]! <= totalMs) return;
      if (coresOf[above - 1] === cores) from--;
    }
    let to = above;
    while (to < count && msOf[to]! >= totalMs) to++;
    this.#moveTail(from + 1, to);
    this.cores[from] = cores;
    this.latencyMs[from] = totalMs;
    this.first[from] = first;
    this.second[from] = second;
  }

  /** Appends a point with more cores and less latency than all before. */
  append(cores: number, latencyMs: number, first: number, second: number): void {
    const { count } = this;
    if (count === this.cores.length) this.#grow();
    this.cores[count] = cores;
    this.latencyMs[count] = latencyMs;
    this.first[count] = first;
    this.second[count] = second;
    this.count = count + 1;
  }

  copyFrom({ start, count, cores, latencyMs, first, second }: Frontier): void {
    this.clear(0, Number.POSITIVE_INFINITY);
    for (let at = start; at < count; at++) {
      this.append(cores[at]!, latencyMs[at]!, first[at]!, second[at]!);
    }
  }

  /** Removes the points above a latency; the last always stays. */
  trim(limitMs: number): void {
    this.start = Math.min(this.indexWithin(limitMs), this.count - 1);
  }

  /** Removes the points above a number of cores. */
  cut(mostCores: number): void {
    const { cores } = this;
    while (this.count > this.start + 1 && cores[this.count - 1]! > mostCores) this.count--;
  }

  /**
   * Returns the index of the cheapest point with at most that latency, or `count`.
   */
  indexWithin(limitMs: number): number {
    const { latencyMs } = this;
    let low = this.start;
    let high = this.count;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (latencyMs[middle]! <= limitMs) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  /** Infinity if the frontier is empty. */
  leastMs(): number {
    return this.count === 0 ? Number.POSITIVE_INFINITY : this.latencyMs[this.count - 1]!;
  }

  #moveTail(target: number, from: number): void {
    const { count } = this;
    const moved = count - from;
    if (target + moved > this.cores.length) this.#grow();
    const { cores, latencyMs, first, second } = this;
    if (moved > 0 && target !== from) {
      cores.copyWithin(target, from, count);
      latencyMs.copyWithin(target, from, count);
      first.copyWithin(target, from, count);
      second.copyWithin(target, from, count);
    }
    this.count = target + moved;
  }

  #grow(): void {
    const { cores, latencyMs, first, second } = this;
    const room = 2 * cores.length;
    this.cores = new Float64Array(room);
    this.cores.set(cores);
    this.latencyMs = new Float64Array(room);
    this.latencyMs.set(latencyMs);
    this.first = new Int32Array(room);
    this.first.set(first);
    this.second = new Int32Array(room);
    this.second.set(second);
  }
}

/**
 * Least latency for each number of cores, while two frontiers are merged; grows as needed, all
 * Infinity in between.
 */
interface Buckets {
  latencyMs: Float64Array;
  pair: Float64Array;
}

export function buckets(): Buckets {
  return { latencyMs: new Float64Array(0), pair: new Float64Array(0) };
}

/**
 * Combines in series: cores and latencies add up. Sums above the limit are left out; of equal sums
 * the one with fewest cores on the left stays.
 */
export function mergeSeries(
  left: Frontier,
  right: Frontier,
  limitMs: number,
  work: Buckets,
  out: Frontier,
): void {
  const { count: leftCount, cores: leftCores, latencyMs: leftMs } = left;
  const { start: rightStart, count: rightCount, cores: rightCores, latencyMs: rightMs } = right;
  const base = leftCores[left.start]! + rightCores[rightStart]!;
  const size = leftCores[leftCount - 1]! + rightCores[rightCount - 1]! - base + 1;
  if (size > MOST_BUCKETS) {
    mergeSparse(left, right, limitMs, out);
    return;
  }
  reserve(work, size);
  const { latencyMs: best, pair } = work;
  // The faster the left side, the slower and the cheaper the right one may be.
  let cheapest = rightCount;
  for (let i = left.start; i < leftCount; i++) {
    const ms = leftMs[i]!;
    while (cheapest > rightStart && ms + rightMs[cheapest - 1]! <= limitMs) cheapest--;
    const offset = leftCores[i]! - base;
    for (let j = cheapest; j < rightCount; j++) {
      const sumMs = ms + rightMs[j]!;
      const at = offset + rightCores[j]!;
      if (sumMs < best[at]!) {
        best[at] = sumMs;
        pair[at] = i * rightCount + j;
      }
    }
  }
  out.clear(0, limitMs);
  let lastMs = Number.POSITIVE_INFINITY;
  for (let at = 0; at < size; at++) {
    const ms = best[at]!;
    if (ms < lastMs) {
      const which = pair[at]!;
      out.append(base + at, ms, Math.floor(which / rightCount), which % rightCount);
      lastMs = ms;
    }
  }
  best.fill(Number.POSITIVE_INFINITY, 0, size);
}

/**
 * `mergeSeries` for sparse sums, such as prices, where most numbers of cores do not occur: visits
 * all pairs in order.
 */
function mergeSparse(left: Frontier, right: Frontier, limitMs: number, out: Frontier): void {
  const pairs: { cores: number; ms: number; i: number; j: number }[] = [];
  let cheapest = right.count;
  for (let i = left.start; i < left.count; i++) {
    const ms = left.latencyMs[i]!;
    while (cheapest > right.start && ms + right.latencyMs[cheapest - 1]! <= limitMs) cheapest--;
    for (let j = cheapest; j < right.count; j++) {
      const cores = left.cores[i]! + right.cores[j]!;
      pairs.push({ cores, ms: ms + right.latencyMs[j]!, i, j });
    }
  }
  pairs.sort((a, b) => a.cores - b.cores || a.ms - b.ms || a.i - b.i);
  out.clear(0, limitMs);
  let lastMs = Number.POSITIVE_INFINITY;
  for (const { cores, ms, i, j } of pairs) {
    if (ms >= lastMs) continue;
    out.append(cores, ms, i, j);
    lastMs = ms;
  }
}

/** Returns only the cheapest point of `mergeSeries`. */
export function cheapestSeries(
  left: Frontier,
  right: Frontier,
  limitMs: number,
  out: Frontier,
): void {
  const { count: leftCount, cores: leftCores, latencyMs: leftMs } = left;
  const { start: rightStart, count: rightCount, cores: rightCores, latencyMs: rightMs } = right;
  let bestCores = Number.POSITIVE_INFINITY;
  let bestMs = Number.POSITIVE_INFINITY;
  let first = -1;
  let second = -1;
  let cheapest = rightCount;
  for (let i = left.start; i < leftCount; i++) {
    const ms = leftMs[i]!;
    while (cheapest > rightStart && ms + rightMs[cheapest - 1]! <= limitMs) cheapest--;
    if (cheapest === rightCount) continue;
    const cores = leftCores[i]! + rightCores[cheapest]!;
    const sumMs = ms + rightMs[cheapest]!;
    if (cores > bestCores || (cores === bestCores && sumMs >= bestMs)) continue;
    bestCores = cores;
    bestMs = sumMs;
    first = i;
    second = cheapest;
  }
  out.clear(0, limitMs);
  if (first >= 0) out.append(bestCores, bestMs, first, second);
}

/** Combines in parallel: cores add up, the longer latency counts. */
export function mergeParallel(
  left: Frontier,
  right: Frontier,
  limitMs: number,
  out: Frontier,
): void {
  const { cores: leftCores, latencyMs: leftMs } = left;
  const { cores: rightCores, latencyMs: rightMs } = right;
  out.clear(0, limitMs);
  let i = left.indexWithin(limitMs);
  let j = right.indexWithin(limitMs);
  while (i < left.count && j < right.count) {
    const longerMs = Math.max(leftMs[i]!, rightMs[j]!);
    out.append(leftCores[i]! + rightCores[j]!, longerMs, i, j);
    // Each point that is as slow as both together must be replaced by a faster one.
    if (leftMs[i] === longerMs) i++;
    if (rightMs[j] === longerMs) j++;
  }
}

function reserve(work: Buckets, size: number): void {
  if (work.latencyMs.length >= size) return;
  const room = 2 * size;
  work.latencyMs = new Float64Array(room).fill(Number.POSITIVE_INFINITY);
  work.pair = new Float64Array(room);
}
