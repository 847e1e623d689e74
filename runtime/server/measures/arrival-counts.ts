/** Counts arriving rows per time window, over some seconds. */

/** Minimum number of windows in a block, and minimum duration of it. */
const BLOCK_WINDOWS = 24;
const BLOCK_MS = 5000;
/** Windows are as long as the SLO, within these. */
const LEAST_WINDOW_MS = 50;
const MOST_WINDOW_MS = 1000;
/** Maximum number of windows that are kept until they are taken. */
const MAX_WINDOWS = 512;

export interface ArrivalBlock {
  readonly rows: number;
  readonly windows: number;
  readonly windowMs: number;
  /** Variance over mean of the rows per window; NaN without rows. */
  readonly dispersion: number;
  readonly startMs: number;
  readonly endMs: number;
}

export class ArrivalCounts {
  readonly #windowMs: number;
  readonly #nowMs: () => number;
  #counts: number[] = [];
  #startMs: number;
  #rows = 0;
  #window = 0;

  /** @param sloMs burstiness within this time makes requests late. */
  constructor(sloMs: number, nowMs: () => number) {
    this.#windowMs = Math.min(MOST_WINDOW_MS, Math.max(LEAST_WINDOW_MS, sloMs));
    this.#nowMs = nowMs;
    this.#startMs = nowMs();
  }

  /** Called with the rows of one request. */
  onRows(rows: number): void {
    this.#passTo(this.#nowMs());
    this.#rows += rows;
  }

  /** @returns undefined while the block is too short; else it begins anew. */
  take(): ArrivalBlock | undefined {
    const nowMs = this.#nowMs();
    const wanted = Math.max(BLOCK_WINDOWS, Math.ceil(BLOCK_MS / this.#windowMs));
    this.#passTo(nowMs);
    const windows = this.#counts.length;
    if (windows < wanted) return undefined;
    const endMs = this.#startMs + windows * this.#windowMs;
    const rows = this.#counts.reduce((sum, count) => sum + count, 0);
    const dispersion = dispersionOf(this.#counts);
    const block = { rows, windows, windowMs: this.#windowMs, dispersion, endMs };
    const startMs = this.#startMs;
    this.#counts = [];
    this.#startMs = endMs;
    this.#window = 0;
    if (nowMs - endMs > this.#windowMs) this.#startMs = nowMs;
    return { ...block, startMs };
  }

  /** Closes the windows that are over. */
  #passTo(nowMs: number): void {
    const window = Math.floor((nowMs - this.#startMs) / this.#windowMs);
    if (window === this.#window) return;
    while (this.#window < window && this.#counts.length < MAX_WINDOWS) {
      this.#counts.push(this.#rows);
      this.#rows = 0;
      this.#window++;
    }
    this.#window = window;
  }
}

/**
 * Variance over mean of counts, by the differences of neighbors, which a slow change of the rate
 * hardly affects. Source: von Neumann, "Distribution of the ratio of the mean square successive
 * difference to the variance" (1941). @returns NaN if all are 0 or there are fewer than two.
 */
export function dispersionOf(counts: readonly number[]): number {
  let squares = 0;
  let sum = counts[0] ?? 0;
  for (let index = 1; index < counts.length; index++) {
    const count = counts[index] ?? 0;
    const step = count - (counts[index - 1] ?? 0);
    squares += step * step;
    sum += count;
  }
  return squares / (2 * (counts.length - 1)) / (sum / counts.length);
}
