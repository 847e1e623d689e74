/** How long starts and loads may take: by those that were seen, and by their steps. */
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

/**
 * The limit of one start or load while it goes on. On a GPU, where the first runs of a size compile
 * for seconds and there may be dozens of them, each step has at least its own time: who goes on
 * from step to step is slow, and not stuck.
 */
export class OpenLimit {
  readonly #sinceMs: number;
  readonly #isOnGpu: boolean;
  #untilMs: number;

  constructor(sinceMs: number, limitMs: number, isOnGpu: boolean) {
    this.#sinceMs = sinceMs;
    this.#isOnGpu = isOnGpu;
    this.#untilMs = sinceMs + limitMs;
  }

  /** Of the whole, as of now. */
  get limitMs(): number {
    return this.#untilMs - this.#sinceMs;
  }

  leftMs(nowMs: number): number {
    return Math.max(0, this.#untilMs - nowMs);
  }

  /**
   * A step has begun.
   * @param stepMs that it may take, after which its own limit ends it.
   */
  onStep(nowMs: number, stepMs: number): void {
    if (this.#isOnGpu) this.#untilMs = Math.max(this.#untilMs, nowMs + SPARE * stepMs);
  }
}

/** The limit of the step tells more than that of the whole, so it has to come first. */
const SPARE = 1.5;
