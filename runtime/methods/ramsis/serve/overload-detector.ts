/** The load is watched in slices of a second, as many as a decision looks back on. */
const SLICE_MS = 1000;
const SLICE_COUNT = 5;
/** The newest of them, which say what the load is if it has risen meanwhile. */
const NEWEST_COUNT = 3;
/** Excess over the top level that is worth a level of its own ... */
const MIN_EXCESS = 0.03;
/**
 * ... if it is also this many standard deviations of a Poisson count: at the load of the top level
 * itself, chance shows one in half a day.
 */
const MIN_SIGMAS = 4;

/**
 * Tells when arrivals stay above the top level: five seconds in which each second exceeds its load,
 * and together they do by more than 3 % and more than chance explains. A burst of fewer seconds,
 * however high, is none; it is over before another level could help.
 */
export class OverloadDetector {
  #sliceStartMs = Number.NaN;
  #sliceCount = 0;
  #fullSlices: number[] = [];

  /**
   * Counts an arrival. Times must not go back.
   * @returns the load, queries/s, when a slice ends in overload; NaN otherwise.
   */
  onArrival(nowMs: number, topQps: number): number {
    const elapsed = Math.floor((nowMs - this.#sliceStartMs) / SLICE_MS);
    if (Number.isNaN(elapsed) || elapsed > SLICE_COUNT) {
      // As in the load monitor, the record begins with an arrival that is not counted itself.
      this.reset();
      this.#sliceStartMs = nowMs;
      return Number.NaN;
    }
    for (let slice = 0; slice < elapsed; slice++) {
      this.#fullSlices = [...this.#fullSlices, this.#sliceCount].slice(-SLICE_COUNT);
      this.#sliceCount = 0;
    }
    this.#sliceStartMs += elapsed * SLICE_MS;
    this.#sliceCount++;
    return elapsed > 0 ? this.#overloadQps(topQps) : Number.NaN;
  }

  /** Forgets what was counted. */
  reset(): void {
    this.#sliceStartMs = Number.NaN;
    this.#sliceCount = 0;
    this.#fullSlices = [];
  }

  #overloadQps(topQps: number): number {
    const slices = this.#fullSlices;
    const sliceQueries = (topQps * SLICE_MS) / 1000;
    if (slices.length < SLICE_COUNT || slices.some((count) => count <= sliceQueries)) {
      return Number.NaN;
    }
    const expected = sliceQueries * SLICE_COUNT;
    const threshold = expected + Math.max(MIN_EXCESS * expected, MIN_SIGMAS * Math.sqrt(expected));
    if (sum(slices) <= threshold) return Number.NaN;
    return (sum(slices.slice(-NEWEST_COUNT)) * 1000) / (NEWEST_COUNT * SLICE_MS);
  }
}

function sum(counts: readonly number[]): number {
  return counts.reduce((total, count) => total + count, 0);
}
