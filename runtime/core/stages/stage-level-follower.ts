import { assert } from "../assert.ts";

/** A plan for more traffic takes over when it has been wanted for this long without a break. */
const RISE_MS = 15_000;
/** One for less traffic, which only saves money. */
const FALL_MS = 60_000;

/**
 * Which plan is followed while the traffic changes for good: the lowest whose sample had peaks as high as the recent ones, or the highest.
 *
 * The paper plans again offline when the traffic stays away from the sample (InferLine §5); here the plans are at hand. Short bursts are the tuner's, so a
 * change has to be wanted for a while.
 */
export class StageLevelFollower {
  level: number;
  readonly #peakQps: Float64Array;
  /** Sign of the change that is wanted, and since when. */
  #direction = 0;
  #sinceMs = Number.NaN;

  /** @param peakQps of the samples of the levels. */
  constructor(peakQps: Float64Array, level: number) {
    assert(level >= 0 && level < peakQps.length, "the level exists");
    this.#peakQps = peakQps;
    this.level = level;
  }

  /** @param recentPeakQps NaN while unknown. @returns whether the level is another one now. */
  update(recentPeakQps: number, nowMs: number): boolean {
    const wanted = Number.isNaN(recentPeakQps) ? this.level : this.#wantedLevel(recentPeakQps);
    const direction = Math.sign(wanted - this.level);
    if (direction !== this.#direction) {
      this.#direction = direction;
      this.#sinceMs = nowMs;
    }
    if (direction === 0) return false;
    if (nowMs - this.#sinceMs < (direction > 0 ? RISE_MS : FALL_MS)) return false;
    this.level = wanted;
    this.#direction = 0;
    return true;
  }

  #wantedLevel(recentPeakQps: number): number {
    const top = this.#peakQps.length - 1;
    for (let level = 0; level < top; level++) {
      if (this.#peakQps[level]! >= recentPeakQps) return level;
    }
    return top;
  }
}
