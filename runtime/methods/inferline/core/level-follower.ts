/** Chooses the plan to follow as the traffic changes permanently. */
import type { InferlineBundle } from "../../../bundle/schema.ts";
import { assert } from "../../../core/assert.ts";
import { beatMsOf } from "../../../core/beat.ts";
import { dispersionOf } from "./dispersion.ts";
import { RECENT } from "./recent-rates.ts";

/** Beats without a break after which a plan for more traffic takes over. */
const RISE = 15;
/** One for less traffic, which only saves money. */
const FALL = 60;
/**
 * Deviations by which the mean rate of 30 beats may be above the load of a plan and still be that
 * load.
 */
const NOISE_SIGMAS = 3;

/**
 * Chooses the plan to follow as the traffic changes permanently: the lowest for the mean rate of
 * the last 30 beats, or the highest.
 *
 * The paper plans again offline when the traffic stays away from the sample (InferLine §5); here
 * the plans are precomputed. Bursts are handled by the tuner, and chance variation of a level's own
 * traffic is no reason to leave it: a change must be needed for a while, and upwards only beyond
 * noise.
 */
export class InferlineLevelFollower {
  level: number;
  readonly #loadQps: Float64Array;
  /** Highest rate per level that is still its load. */
  readonly #mostQps: Float64Array;
  /** Sign of the needed change, and when the need began. */
  #direction = 0;
  #sinceMs = Number.NaN;
  readonly #beatMs: number;

  constructor(
    { levels, arrivals, slo }: Pick<InferlineBundle, "levels" | "arrivals" | "slo">,
    level: number,
  ) {
    assert(level >= 0 && level < levels.length, "the level exists");
    const perSecond = (1000 * dispersionOf(arrivals)) / (RECENT * beatMsOf(slo));
    this.#loadQps = Float64Array.from(levels, ({ loadQps }) => loadQps);
    this.#mostQps = this.#loadQps.map((qps) => qps + NOISE_SIGMAS * Math.sqrt(perSecond * qps));
    this.level = level;
    this.#beatMs = beatMsOf(slo);
  }

  /** @param recentMeanQps NaN while unknown. @returns whether the level is another one now. */
  update(recentMeanQps: number, nowMs: number): boolean {
    const wanted = Number.isNaN(recentMeanQps) ? this.level : this.#wantedLevel(recentMeanQps);
    const direction = Math.sign(wanted - this.level);
    if (direction !== this.#direction) {
      this.#direction = direction;
      this.#sinceMs = nowMs;
    }
    if (direction === 0) return false;
    if (nowMs - this.#sinceMs < (direction > 0 ? RISE : FALL) * this.#beatMs) return false;
    this.level = wanted;
    this.#direction = 0;
    return true;
  }

  /**
   * Upwards, the lowest level whose load this may be; downwards, the lowest whose load it does not
   * exceed.
   */
  #wantedLevel(qps: number): number {
    if (qps > this.#mostQps[this.level]!) return lowestFor(this.#mostQps, qps);
    return Math.min(this.level, lowestFor(this.#loadQps, qps));
  }
}

/** Returns the lowest sufficient level, or the highest. */
function lowestFor(limits: Float64Array, qps: number): number {
  const found = limits.findIndex((limit) => limit >= qps);
  return found < 0 ? limits.length - 1 : found;
}
