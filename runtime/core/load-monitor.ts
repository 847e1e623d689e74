import { assert } from "./assert.ts";

/** Arrivals are counted in buckets of this length ... */
const BUCKET_MS = 10;
/** ... and the window is this many of them, the current one included: between 490 and 500 ms. Source: RAMSIS §6, moving average. */
const BUCKET_COUNT = 50;
/** A shorter record says nothing yet. */
const MIN_WINDOW_MS = 50;

/**
 * Arrival rate over a moving window of 500 ms, in constant time and memory.
 *
 * The record begins with the first arrival, which is therefore not counted: over a Poisson process the estimate is unbiased from the start.
 * While the record is shorter than the window, the count is divided by its length. Times start at 0 or later and must not go back.
 */
export class LoadMonitor {
  readonly #countByBucket = new Uint32Array(BUCKET_COUNT);
  #windowCount = 0;
  /** Number of the newest bucket since time 0, not wrapped. */
  #bucket = 0;
  #startMs = Number.NaN;

  /** Counts an arrival. */
  recordArrival(nowMs: number): void {
    if (Number.isNaN(this.#startMs)) {
      this.#startMs = nowMs;
      this.#bucket = Math.floor(nowMs / BUCKET_MS);
      return;
    }
    this.#advance(nowMs);
    this.#countByBucket[this.#bucket % BUCKET_COUNT]!++;
    this.#windowCount++;
  }

  /** Length of the window that ends now, NaN before the first arrival. */
  windowMs(nowMs: number): number {
    const windowStartMs = (Math.floor(nowMs / BUCKET_MS) - BUCKET_COUNT + 1) * BUCKET_MS;
    return nowMs - (windowStartMs > this.#startMs ? windowStartMs : this.#startMs);
  }

  /** Measured arrival rate, queries per second; NaN until it is known, 50 ms after the first arrival. */
  loadQps(nowMs: number): number {
    if (!(nowMs - this.#startMs >= MIN_WINDOW_MS)) return Number.NaN;
    this.#advance(nowMs);
    return (this.#windowCount * 1000) / this.windowMs(nowMs);
  }

  /** Empties the buckets that have left the window. */
  #advance(nowMs: number): void {
    const newest = Math.floor(nowMs / BUCKET_MS);
    const counts = this.#countByBucket;
    assert(newest >= this.#bucket, "time does not go back");
    const firstStale = newest - this.#bucket > BUCKET_COUNT ? newest - BUCKET_COUNT : this.#bucket;
    for (let bucket = firstStale + 1; bucket <= newest; bucket++) {
      this.#windowCount -= counts[bucket % BUCKET_COUNT]!;
      counts[bucket % BUCKET_COUNT] = 0;
    }
    this.#bucket = newest;
  }
}
