import { assert } from "./assert.ts";

export interface LevelChoiceOptions {
  /** Excess of the measured load over the current level that is taken for a rise at once, in standard deviations of the window's count. */
  readonly riseSigmas: number;
  /** Excess that the first known load may have over the level chosen for it, likewise. */
  readonly startSigmas: number;
  /** Shortfall of the measured load below a lower level before that level takes over, likewise. */
  readonly fallSigmas: number;
  /** Excess that may last for ever, likewise. */
  readonly allowanceSigmas: number;
  /** Excess queries beyond the allowance, summed over time, that are taken for a rise, likewise. */
  readonly driftSigmas: number;
}

export const DEFAULT_LEVEL_CHOICE: LevelChoiceOptions = {
  riseSigmas: 3.5,
  startSigmas: 1,
  fallSigmas: 1.5,
  allowanceSigmas: 0.35,
  driftSigmas: 5,
};

/**
 * For a pooled queue, whose price rises with its length: the policy of one level carries noise and a few percent more load by itself, so a rise is
 * believed later. Measured in docs/performance.md.
 */
export const POOLED_LEVEL_CHOICE: LevelChoiceOptions = {
  ...DEFAULT_LEVEL_CHOICE,
  riseSigmas: 5,
  allowanceSigmas: 0.5,
  driftSigmas: 8,
};

/**
 * Which load level decides: the lowest one that carries the load, where a difference that is fair to call noise changes nothing.
 *
 * The count of a short window is noisy. At a steady load of λ queries/s it has, over w seconds, mean λw and standard deviation √(λw): at 2000
 * queries/s and half a second 3 %. Following it would swing between two levels half of the time. So a level is left
 *  - upward at once when the measured load exceeds it by `riseSigmas` standard deviations: a burst;
 *  - upward as well when smaller excesses add up: a cumulative sum of the queries above the level's load, less `allowanceSigmas`, reaches
 *    `driftSigmas` standard deviations (Page's CUSUM test, "Continuous Inspection Schemes", 1954). An excess of 5 % takes about two seconds;
 *  - downward when a lower level exceeds the measured load by `fallSigmas` standard deviations.
 *
 * The top level decides while the load is unknown or above every level: what it gives away in accuracy it cannot lose in deadlines. When the load
 * becomes known, nothing speaks for the top level any more, so the first choice is the lowest level that is not `startSigmas` too low.
 */
export class LevelChoice {
  readonly #levelLoadQps: Float64Array;
  readonly #options: LevelChoiceOptions;
  #level: number;
  #isKnown = false;
  /** Queries above the current level's load and allowance, summed since the sum was last 0. */
  #excessQueries = 0;
  #updatedMs = Number.NaN;

  /** @param levelLoadQps loads of the levels, ascending; kept, not copied. */
  constructor(levelLoadQps: Float64Array, options = DEFAULT_LEVEL_CHOICE) {
    assert(levelLoadQps.length > 0, "there is at least one level");
    this.#levelLoadQps = levelLoadQps;
    this.#options = options;
    this.#level = levelLoadQps.length - 1;
  }

  /**
   * Takes a measurement and returns the index of the level that decides now.
   * @param loadQps measured load, NaN while unknown. @param windowMs length of the window it was measured over.
   */
  update(loadQps: number, windowMs: number, nowMs: number): number {
    const loads = this.#levelLoadQps;
    const top = loads.length - 1;
    const sinceMs = nowMs - this.#updatedMs;
    this.#updatedMs = nowMs;
    if (Number.isNaN(loadQps)) {
      this.#isKnown = false;
      return this.#moveTo(top);
    }
    if (!this.#isKnown) return this.#start(loadQps, windowMs);
    let level = this.#level;
    while (level > 0 && this.#fallsBelow(level - 1, loadQps, windowMs)) level--;
    if (level !== this.#level) return this.#moveTo(level);
    if (!this.#rises(loadQps, windowMs, sinceMs)) return level;
    while (level < top && loads[level]! < loadQps) level++;
    return this.#moveTo(level);
  }

  #start(loadQps: number, windowMs: number): number {
    const loads = this.#levelLoadQps;
    const { startSigmas } = this.#options;
    let level = 0;
    while (
      level < loads.length - 1 &&
      loadQps > loads[level]! + startSigmas * noiseQps(loads[level]!, windowMs)
    ) {
      level++;
    }
    this.#isKnown = true;
    return this.#moveTo(level);
  }

  #fallsBelow(level: number, loadQps: number, windowMs: number): boolean {
    const levelQps = this.#levelLoadQps[level]!;
    return loadQps <= levelQps - this.#options.fallSigmas * noiseQps(levelQps, windowMs);
  }

  #rises(loadQps: number, windowMs: number, sinceMs: number): boolean {
    const { riseSigmas, allowanceSigmas, driftSigmas } = this.#options;
    const levelQps = this.#levelLoadQps[this.#level]!;
    const sigmaQps = noiseQps(levelQps, windowMs);
    const excessQps = loadQps - levelQps - allowanceSigmas * sigmaQps;
    if (sinceMs > 0) {
      this.#excessQueries = Math.max(0, this.#excessQueries + (excessQps * sinceMs) / 1000);
    }
    if (loadQps <= levelQps) return false;
    const sigmaQueries = (sigmaQps * windowMs) / 1000;
    return (
      loadQps > levelQps + riseSigmas * sigmaQps || this.#excessQueries > driftSigmas * sigmaQueries
    );
  }

  #moveTo(level: number): number {
    this.#level = level;
    this.#excessQueries = 0;
    return level;
  }
}

/** Index of the lowest level for a load, or of the highest if there is none or the load is NaN, not known. */
export function levelForLoad(
  levels: readonly { readonly loadQps: number }[],
  loadQps: number,
): number {
  const level = levels.findIndex((one) => one.loadQps >= loadQps);
  return level < 0 ? levels.length - 1 : level;
}

/** Standard deviation of the load that a window shows of a Poisson process. */
function noiseQps(loadQps: number, windowMs: number): number {
  return Math.sqrt((loadQps * 1000) / windowMs);
}
