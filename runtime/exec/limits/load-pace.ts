/** Time limits of starts and loads, from those measured before and from their steps. */
import type { WorkerLimits } from "./worker-limits.ts";

/**
 * Time limit of an executor's starts or of its loads: long until one has been measured, then a few
 * times the longest, doubled with each consecutive one that timed out.
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
 * Time limit of one start or load in progress. On a GPU the first runs of a size compile for
 * seconds, and there may be dozens of sizes, so each step gets at least its own time: a worker that
 * goes from step to step is slow, not stuck.
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

  /** Current limit of the whole start or load. */
  get limitMs(): number {
    return this.#untilMs - this.#sinceMs;
  }

  leftMs(nowMs: number): number {
    return Math.max(0, this.#untilMs - nowMs);
  }

  /** Called when a step begins. @param stepMs the step's own limit. */
  onStep(nowMs: number, stepMs: number): void {
    if (this.#isOnGpu) this.#untilMs = Math.max(this.#untilMs, nowMs + SPARE * stepMs);
  }
}

/** The step's own limit gives the better message, so it has to expire first. */
const SPARE = 1.5;
