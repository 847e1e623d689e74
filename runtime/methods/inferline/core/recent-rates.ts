/** Measures the rates of the last 30 s. */
import { assert } from "../../../core/assert.ts";

/** Length of a tumbling window. Source: InferLine §5.2. */
export const RATE_WINDOW_MS = 5000;
/** Windows that are remembered: 30 s. */
const WINDOW_COUNT = 6;
export const RECENT_MS = WINDOW_COUNT * RATE_WINDOW_MS;

/**
 * Requests of the last 30 s in six tumbling windows of 5 s. The first window begins with the first
 * call of either method; a window holds its begin and not its end.
 */
export class RecentRates {
  /** Highest rate of the last six whole windows, requests per second; NaN before there are six. */
  recentPeakQps = Number.NaN;
  /** Rate of all of them together; NaN before there are six. */
  recentMeanQps = Number.NaN;
  /** When the window at hand is whole; infinite before the first call. */
  windowEndMs = Number.POSITIVE_INFINITY;
  /** Whole windows so far. */
  windowCount = 0;
  #requests = 0;
  readonly #recent = new Float64Array(WINDOW_COUNT);

  recordRequest(nowMs: number): void {
    this.advance(nowMs);
    this.#requests++;
  }

  /** Closes the windows that are over. @returns whether there were any. */
  advance(nowMs: number): boolean {
    if (this.windowEndMs === Number.POSITIVE_INFINITY) this.windowEndMs = nowMs + RATE_WINDOW_MS;
    if (nowMs < this.windowEndMs) return false;
    const idle = Math.floor((nowMs - this.windowEndMs) / RATE_WINDOW_MS);
    assert(idle >= 0 && idle < Number.POSITIVE_INFINITY, "times are finite");
    this.#close(this.#requests);
    this.#requests = 0;
    // Beyond the last six, empty windows change nothing but their number.
    for (let window = 0; window < Math.min(idle, WINDOW_COUNT); window++) this.#close(0);
    this.windowCount += Math.max(idle - WINDOW_COUNT, 0);
    this.windowEndMs += (idle + 1) * RATE_WINDOW_MS;
    let peak = 0;
    let sum = 0;
    for (let window = 0; window < WINDOW_COUNT; window++) {
      peak = Math.max(peak, this.#recent[window]!);
      sum += this.#recent[window]!;
    }
    if (this.windowCount >= WINDOW_COUNT) {
      this.recentPeakQps = (1000 * peak) / RATE_WINDOW_MS;
      this.recentMeanQps = (1000 * sum) / RECENT_MS;
    }
    return true;
  }

  #close(requests: number): void {
    this.#recent[this.windowCount % WINDOW_COUNT] = requests;
    this.windowCount++;
  }
}
