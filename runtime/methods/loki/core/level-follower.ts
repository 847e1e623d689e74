/** Chooses the plan that is followed: the lowest that carries the demand. */
import { assert } from "../../../core/assert.ts";

export interface LevelFollowerOptions {
  /** Time between two looks at whether a lower level would do. Source: Loki §4.2. */
  readonly periodMs: number;
  /**
   * Excess of the demand over what a level carries before it is left upwards, in standard
   * deviations of the demand.
   */
  readonly riseSigmas: number;
  /**
   * A lower level has to carry so much beyond the demand, likewise: between the two nothing
   * changes.
   */
  readonly fallSigmas: number;
}

/**
 * Measured on the traffic chain, in mode `deadline`, models loading in 0.5 s. Demand between 100
 * and 1500 per second, of which a rise at 0, 1, 2, 3 deviations violates 0.7, 0.8, 1.0, 1.2 % at
 * accuracies 0.707 to 0.718. A steady demand at the load of a level changes plans every 1 to 3
 * minutes with a fall at 1 or 2 deviations, and once with 3.
 */
const DEFAULT_LEVEL_FOLLOWER: LevelFollowerOptions = {
  periodMs: 10_000,
  riseSigmas: 1,
  fallSigmas: 3,
};

/** Time for which a level is kept at least once servers are faster again, and at most. */
const LEAST_HOLD_MS = 4000;
const MOST_HOLD_MS = 32_000;
/** Servers that become slow within this time after the hold are slow again and again. */
const AGAIN_MS = 8000;

/**
 * Which plan is followed: the lowest that carries the demand. Upwards it goes at once, for what is
 * not carried is late; downwards every ten seconds, as loading models costs. The highest while the
 * demand is unknown or above all: it gives away accuracy, not deadlines.
 */
export class LevelFollower {
  level: number;
  readonly #options: LevelFollowerOptions;
  /** Levels by what they are meant to carry, ascending, and the place of each among them. */
  readonly #levelByRank: Uint32Array;
  readonly #rankByLevel: Uint32Array;
  #periodStartMs = Number.NaN;
  /** Pace for which the level was chosen last. */
  #chosenPace = 1;
  #changedMs = Number.NEGATIVE_INFINITY;
  /** When the level fell last because servers had become faster. */
  #easedMs = Number.NEGATIVE_INFINITY;
  /** How long a level is kept after a change although servers have become faster. */
  #holdMs = LEAST_HOLD_MS;

  /** @param meantQps what each level is meant to carry, on one and the same machine. */
  constructor(meantQps: readonly number[], options = DEFAULT_LEVEL_FOLLOWER) {
    assert(meantQps.length > 0, "there is at least one level");
    this.#options = options;
    const order = [...meantQps.keys()].sort((a, b) => meantQps[a]! - meantQps[b]! || a - b);
    this.#levelByRank = Uint32Array.from(order);
    this.#rankByLevel = new Uint32Array(order.length);
    for (const [rank, level] of order.entries()) this.#rankByLevel[level] = rank;
    this.level = order.at(-1)!;
  }

  /**
   * @param carriedQps by level, as things are now.
   * @param demandQps NaN while unknown.
   * @param noiseQps its standard deviation.
   * @param pace of the servers, by which `carriedQps` was found.
   * @returns whether the level is another one now.
   */
  update(
    carriedQps: Float64Array,
    demandQps: number,
    noiseQps: number,
    nowMs: number,
    pace = 1,
  ): boolean {
    if (Number.isNaN(demandQps)) return false;
    const { periodMs, riseSigmas, fallSigmas } = this.#options;
    const before = this.level;
    const isFirst = Number.isNaN(this.#periodStartMs);
    const isDue = isFirst || nowMs - this.#periodStartMs >= periodMs;
    if (isDue) this.#periodStartMs = nowMs;
    // Levels that servers were too slow for are looked at as at first.
    const isEased = pace < this.#chosenPace && nowMs - this.#changedMs >= this.#holdMs;
    if (demandQps > carriedQps[before]! + riseSigmas * noiseQps) {
      this.level = this.#lowest(carriedQps, demandQps);
      if (pace > 1) this.#setHold(nowMs);
    } else if (isDue || isEased) {
      // The first measurement speaks for the top level no more than for any other.
      const neededQps = demandQps + (isFirst || isEased ? 0 : fallSigmas * noiseQps);
      const level = this.#lowest(carriedQps, neededQps);
      if (this.#rankByLevel[level]! < this.#rankByLevel[before]!) this.level = level;
    }
    if (this.level === before) return false;
    if (isEased) this.#easedMs = nowMs;
    this.#changedMs = nowMs;
    this.#chosenPace = pace;
    return true;
  }

  /** Servers that are slow again and again keep the level for longer each time. */
  #setHold(nowMs: number): void {
    const isAgain = nowMs - this.#easedMs < this.#holdMs + AGAIN_MS;
    this.#holdMs = isAgain ? Math.min(2 * this.#holdMs, MOST_HOLD_MS) : LEAST_HOLD_MS;
  }

  /** The lowest level that carries a demand, or else the one that carries the most. */
  #lowest(carriedQps: Float64Array, demandQps: number): number {
    const levels = this.#levelByRank;
    let most = levels[0]!;
    for (let rank = 0; rank < levels.length; rank++) {
      const level = levels[rank]!;
      if (carriedQps[level]! >= demandQps) return level;
      if (carriedQps[level]! > carriedQps[most]!) most = level;
    }
    return most;
  }
}
