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
   * @returns whether the level is another one now.
   */
  update(carriedQps: Float64Array, demandQps: number, noiseQps: number, nowMs: number): boolean {
    if (Number.isNaN(demandQps)) return false;
    const { periodMs, riseSigmas, fallSigmas } = this.#options;
    const before = this.level;
    const isFirst = Number.isNaN(this.#periodStartMs);
    const isDue = isFirst || nowMs - this.#periodStartMs >= periodMs;
    if (isDue) this.#periodStartMs = nowMs;
    if (demandQps > carriedQps[before]! + riseSigmas * noiseQps) {
      this.level = this.#lowest(carriedQps, demandQps);
    } else if (isDue) {
      // The first measurement speaks for the top level no more than for any other.
      const neededQps = demandQps + (isFirst ? 0 : fallSigmas * noiseQps);
      const level = this.#lowest(carriedQps, neededQps);
      if (this.#rankByLevel[level]! < this.#rankByLevel[before]!) this.level = level;
    }
    return this.level !== before;
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
