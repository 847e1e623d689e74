/** Measures the rates of the last 30 beats. */
import { assert } from "../../../core/assert.ts";

/** Beats of a tumbling window. Source: InferLine §5.2, 5 s. */
export const RATE_WINDOW = 5;
/** Windows that are remembered. */
const WINDOW_COUNT = 6;
export const RECENT = WINDOW_COUNT * RATE_WINDOW;

/**
 * Requests of the last 30 beats in six tumbling windows of five. The first window begins with the
 * first call of either method; a window holds its begin and not its end.
 */
export class RecentRates {
  /** Highest rate of the last six whole windows, requests per second; NaN before there are six. */
  recentPeakQps = Number.NaN;
  /** Rate over all six windows; NaN before there are six. */
  recentMeanQps = Number.NaN;
  /** When the window at hand is whole; infinite before the first call. */
  windowEndMs = Number.POSITIVE_INFINITY;
  /** Whole windows so far. */
  windowCount = 0;
  #requests = 0;
  readonly #recent = new Float64Array(WINDOW_COUNT);
  readonly #windowMs: number;

  constructor(beatMs: number) {
    this.#windowMs = RATE_WINDOW * beatMs;
  }

  recordRequest(nowMs: number): void {
    this.advance(nowMs);
    this.#requests++;
  }

  /** Closes the windows that are over. @returns whether there were any. */
  advance(nowMs: number): boolean {
    if (this.windowEndMs === Number.POSITIVE_INFINITY) this.windowEndMs = nowMs + this.#windowMs;
    if (nowMs < this.windowEndMs) return false;
    const idle = Math.floor((nowMs - this.windowEndMs) / this.#windowMs);
    assert(idle >= 0 && idle < Number.POSITIVE_INFINITY, "times are finite");
    this.#close(this.#requests);
    this.#requests = 0;
    // Beyond the last six, empty windows only change their number.
    for (let window = 0; window < Math.min(idle, WINDOW_COUNT); window++) this.#close(0);
    this.windowCount += Math.max(idle - WINDOW_COUNT, 0);
    this.windowEndMs += (idle + 1) * this.#windowMs;
    let peak = 0;
    let sum = 0;
    for (let window = 0; window < WINDOW_COUNT; window++) {
      peak = Math.max(peak, this.#recent[window]!);
      sum += this.#recent[window]!;
    }
    if (this.windowCount >= WINDOW_COUNT) {
      this.recentPeakQps = (1000 * peak) / this.#windowMs;
      this.recentMeanQps = (1000 * sum) / (WINDOW_COUNT * this.#windowMs);
    }
    return true;
  }

  #close(requests: number): void {
    this.#recent[this.windowCount % WINDOW_COUNT] = requests;
    this.windowCount++;
  }
}
