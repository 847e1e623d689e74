/** Chooses the plan to follow: the lowest that carries the demand. */
import { assert } from "../../../core/assert.ts";
import { LevelChoice, type LevelChoiceOptions } from "../../../core/level-choice.ts";
import type { LoadWindow, MeasuredLoad } from "../../../core/load-monitor.ts";

/**
 * A demand at the load of a level leaves its plan less than once in ten thousand beats, one that is
 * 15 % above it within three.
 */
const CHOICE: LevelChoiceOptions = {
  riseSigmas: 3.5,
  refuteSigmas: 3,
  startSigmas: 2,
  fallSigmas: 1,
  allowanceSigmas: 0.5,
  driftSigmas: 8,
};

// Times are in beats.

/**
 * A lower level waits this long after a change, as loading models costs. Source: Loki §4.2, 10 s.
 */
const PERIOD = 10;
/** Time for which a level is kept at least once servers are faster again, and at most. */
const LEAST_HOLD = 4;
const MOST_HOLD = 32;
/** Servers that become slow within this time after the hold are slow again and again. */
const AGAIN = 8;

/**
 * Chooses the plan to follow: the lowest that carries the demand, where a difference that may be
 * noise changes nothing. Upwards it changes at once, because requests beyond capacity are late;
 * downwards some time after the last change. It is the highest while the demand is unknown or above
 * all levels: that gives away accuracy, not deadlines.
 */
export class LevelFollower {
  level: number;
  /** Levels by the load that they are meant to carry, ascending. */
  readonly #levelByRank: Uint32Array;
  readonly #carriedByRank: Float64Array;
  readonly #choice: LevelChoice;
  readonly #beatMs: number;
  readonly #load = new Demand();
  /** Pace for which the level was chosen last. */
  #chosenPace = 1;
  #changedMs = Number.NEGATIVE_INFINITY;
  /** When the level last fell because servers had become faster. */
  #easedMs = Number.NEGATIVE_INFINITY;
  /** How long a level is kept after a change although servers have become faster. */
  #hold = LEAST_HOLD;

  get isLowest(): boolean {
    return this.level === this.#levelByRank[0];
  }

  /** @param meantQps load that each level is meant to carry, all on the same machine. */
  constructor(meantQps: readonly number[], beatMs: number) {
    assert(meantQps.length > 0, "at least one level is needed");
    const order = [...meantQps.keys()].sort((a, b) => meantQps[a]! - meantQps[b]! || a - b);
    this.#levelByRank = Uint32Array.from(order);
    this.#carriedByRank = Float64Array.from(order, (level) => meantQps[level]!);
    this.#choice = new LevelChoice(this.#carriedByRank, CHOICE);
    this.#beatMs = beatMs;
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
    const levels = this.#levelByRank;
    for (let rank = 0; rank < levels.length; rank++) {
      this.#carriedByRank[rank] = carriedQps[levels[rank]!]!;
    }
    this.#load.set(demandQps, noiseQps);
    const isEased = pace < this.#chosenPace;
    const waitMs = (isEased ? this.#hold : PERIOD) * this.#beatMs;
    const mayFall = nowMs - this.#changedMs >= waitMs;
    const rank = this.#choice.update(this.#load, nowMs, 1, mayFall);
    const level = this.#mostFrom(rank, demandQps);
    if (level === this.level) return false;
    if (carriedQps[level]! < carriedQps[this.level]!) {
      if (isEased) this.#easedMs = nowMs;
    } else if (pace > 1) this.#setHold(nowMs);
    this.level = level;
    this.#changedMs = nowMs;
    this.#chosenPace = pace;
    return true;
  }

  /** Servers that are slow again and again keep the level for longer each time. */
  #setHold(nowMs: number): void {
    const isAgain = nowMs - this.#easedMs < (this.#hold + AGAIN) * this.#beatMs;
    this.#hold = isAgain ? Math.min(2 * this.#hold, MOST_HOLD) : LEAST_HOLD;
  }

  /**
   * Returns the level of a rank or, if that is the highest and not enough, the one that carries the
   * most.
   */
  #mostFrom(rank: number, demandQps: number): number {
    const carriedQps = this.#carriedByRank;
    let most = rank;
    if (rank === carriedQps.length - 1 && carriedQps[rank]! < demandQps) {
      for (let other = 0; other < rank; other++) {
        if (carriedQps[other]! > carriedQps[most]!) most = other;
      }
    }
    return this.#levelByRank[most]!;
  }
}

/** Queries of a demand without noise. */
const CERTAIN = 1e12;

/** A demand and its noise as the count of a window that has as much. */
class Demand implements MeasuredLoad, LoadWindow {
  readonly isKnown = true;
  readonly window = this;
  readonly newest = this;
  readonly clump = 1;
  queries = 0;
  ms = 1;

  set(qps: number, noiseQps: number): void {
    const queries = noiseQps > 0 ? (qps / noiseQps) * (qps / noiseQps) : CERTAIN;
    this.queries = qps > 0 ? queries : 0;
    this.ms = qps > 0 ? (1000 * queries) / qps : 1;
  }
}
