/** How long starts and loads may take: by those that were seen. */
import type { WorkerLimits } from "./worker-limits.ts";

/**
 * The limit of the starts of an executor, or of its loads: long until one was seen, then a few
 * times the longest, doubled with every one in a row that was not done in time.
 */
export class LoadPace {
  readonly #limits: WorkerLimits;
  #longestMs = Number.NaN;
  #hungInARow = 0;

  constructor(limits: WorkerLimits) {
    this.#limits = limits;
  }

  limitMs(): number {
    const { startTimeoutMs, startFactor, startFloorMs } = this.#limits;
    if (Number.isNaN(this.#longestMs)) return startTimeoutMs;
    const seenMs = Math.max(startFactor * this.#longestMs, startFloorMs);
    return Math.min(startTimeoutMs, seenMs * 2 ** this.#hungInARow);
  }

  onDone(tookMs: number): void {
    this.#hungInARow = 0;
    this.#longestMs = Math.max(tookMs, Number.isNaN(this.#longestMs) ? 0 : this.#longestMs);
  }

  onHung(): void {
    this.#hungInARow++;
  }
}
