import { assert } from "./assert.ts";

export interface LevelChoiceOptions {
  /** Excess of the measured load over the current level, in standard deviations of the window's count, that is taken for a rise at once. */
  readonly upSigmas: number;
  /** How long the measured load may stay above the current level by less than that. */
  readonly dwellMs: number;
}

export const DEFAULT_LEVEL_CHOICE: LevelChoiceOptions = { upSigmas: 3, dwellMs: 2000 };

/**
 * Which load level decides: the lowest one whose load is at least the measured load, with a delay on the way up.
 *
 * The count of a short window is noisy. At a steady load of λ queries/s it has, over w seconds, mean λw and standard deviation √(λw), so where
 * a level lies exactly at the true load, the measured load is above it half of the time, and following it would swing between this level and
 * the next. So a level is left upward only when its own load is no longer a fair explanation: the measured load exceeds it by more than
 * `upSigmas` standard deviations, or has been above it at every decision for `dwellMs`, four windows of 500 ms. Downward nothing is delayed.
 *
 * The two directions are not symmetric, and it shows where levels lie closer together than the noise: a dip leads down at once, and the way
 * back waits for the dwell time. At 2000 queries/s the standard deviation over 500 ms is 63 queries/s, so levels 50 apart spend most of their
 * time one level low; levels 200 apart do not.
 *
 * The top level decides while the load is unknown or above every level: what it gives away in accuracy it cannot lose in deadlines.
 */
export class LevelChoice {
  readonly #levelLoadQps: Float64Array;
  readonly #upSigmas: number;
  readonly #dwellMs: number;
  #level: number;
  /** Since when the measured load is above the current level, NaN when it is not. */
  #aboveSinceMs = Number.NaN;

  /** @param levelLoadQps loads of the levels, ascending; kept, not copied. */
  constructor(levelLoadQps: Float64Array, options = DEFAULT_LEVEL_CHOICE) {
    assert(levelLoadQps.length > 0, "there is at least one level");
    this.#levelLoadQps = levelLoadQps;
    this.#upSigmas = options.upSigmas;
    this.#dwellMs = options.dwellMs;
    this.#level = levelLoadQps.length - 1;
  }

  /**
   * Takes a measurement and returns the index of the level that decides now.
   * @param loadQps measured load, NaN while unknown. @param windowMs length of the window it was measured over.
   */
  update(loadQps: number, windowMs: number, nowMs: number): number {
    const loads = this.#levelLoadQps;
    const top = loads.length - 1;
    if (Number.isNaN(loadQps)) return this.#settle(top);
    let level = this.#level;
    while (level > 0 && loads[level - 1]! >= loadQps) level--;
    if (level === top || loads[level]! >= loadQps) return this.#settle(level);
    if (Number.isNaN(this.#aboveSinceMs)) this.#aboveSinceMs = nowMs;
    const dwelt = nowMs - this.#aboveSinceMs >= this.#dwellMs;
    if (!dwelt && loadQps <= this.#noiseLimitQps(windowMs)) return level;
    while (level < top && loads[level]! < loadQps) level++;
    return this.#settle(level);
  }

  /** The most that a window at the current level's own load is believed to show. */
  #noiseLimitQps(windowMs: number): number {
    const loadQps = this.#levelLoadQps[this.#level]!;
    return loadQps + this.#upSigmas * Math.sqrt((loadQps * 1000) / windowMs);
  }

  #settle(level: number): number {
    this.#level = level;
    this.#aboveSinceMs = Number.NaN;
    return level;
  }
}
