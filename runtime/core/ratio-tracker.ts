/** Ratios of measured to expected times, tracked for many series: in the mean, and of slow runs. */

/** Values that a ratio can have, ascending. */
export const RATIO_GRID = Float64Array.of(
  0.5,
  0.65,
  0.8,
  1,
  1.15,
  1.25,
  1.37,
  1.5,
  1.75,
  2,
  2.5,
  3,
  4,
  5.5,
  8,
);
/** Index of 1 in the grid. */
export const UNIT = 3;

/** Part of its sums that a window forgets with each run; the shortest first. */
const FORGETS = Float64Array.of(1 / 16, 1 / 64, 1 / 256);
/** Standard errors by which a window's ratio is above the value that it refutes. */
const RISE_SIGMAS = Float64Array.of(4, 3.5, 3);
const WINDOWS = 3;
/** Standard deviations of a single run above which a few in turn refute the value. */
const JUMP_SIGMAS = 4;
/** Runs in turn that refute a value; one more if the profile's variance over mean² is high. */
const JUMP_RUNS = 2;
const NOISY_VARIANCE = 0.02;
/** A single run counts as at most this many times its expected time. */
const MOST_RATIO = 32;
/** Falls consider the last 16 runs, and at least this many beats. */
const FALL = 0.2;
const FALL_FORGETS = 1 / 16;
/** A ratio below 1 is accepted only after this many runs and by this many standard errors. */
const FASTER_RUNS = 64;
const FASTER_SIGMAS = 4;
/** Runs below which a slow value does not change. */
const SLOW_RUNS = 32;

/** Sums of a window. */
const EXPECTED = 0;
const MEASURED = 1;
/** Sums of measured² / expected, and of squared expected times. */
const SECOND = 2;
const SQUARES = 3;
/** Sum of expected² times the profile's variance over mean². */
const PROFILED = 4;
const SUMS = 5;

interface RatioRules {
  /** Time after a rise in which the value does not fall, ms. */
  readonly holdMs: number;
  /** Time between two steps down, ms. */
  readonly stepMs: number;
  readonly beatMs: number;
  /** The lowest value on the grid, an index. */
  readonly lowest?: number;
  /** Runs in turn that refute the value; more where runs of many workers are mixed. */
  readonly jumpRuns?: number;
  /** Whether only the longest window counts, for values that hardly ever change. */
  readonly isSlow?: boolean;
}

/**
 * One value on `RATIO_GRID` for each of `count` series of runs, 1 at first.
 *
 * A window's ratio is the sum of measured times over the sum of expected times, so a stall weighs
 * as much as the time that it takes. The value rises at once
 * - when a few runs in turn exceed it by `JUMP_SIGMAS` standard deviations of the profile: a slow
 *   spell;
 * - when a window of 16, 64 or 256 runs exceeds it by `RISE_SIGMAS` standard errors, the larger of
 *   what its runs show and what the profile says: a small change, or stalls, once there are enough.
 * The value falls one step at a time, after `holdMs`, when the last 16 runs and the last fifth of a
 * beat are below the middle between two steps. What a change has refuted is forgotten. Nothing is
 * allocated after construction.
 */
export class RatioTracker {
  /** Index in the grid by series. */
  readonly index: Uint8Array;
  readonly #rules: Required<RatioRules>;
  readonly #runs: Uint32Array;
  /** Sums, [count, WINDOWS + 1, SUMS]: the windows, and the one that falls use. */
  readonly #sums: Float64Array;
  /** Runs in turn that refuted the value, and the lowest ratio of them. */
  readonly #streak: Uint32Array;
  readonly #least: Float64Array;
  readonly #lastMs: Float64Array;
  readonly #mayFallMs: Float64Array;

  constructor(count: number, rules: RatioRules) {
    this.#rules = { lowest: 0, isSlow: false, jumpRuns: JUMP_RUNS, ...rules };
    this.index = new Uint8Array(count).fill(UNIT);
    this.#runs = new Uint32Array(count);
    this.#sums = new Float64Array(count * (WINDOWS + 1) * SUMS);
    this.#streak = new Uint32Array(count);
    this.#least = new Float64Array(count);
    this.#lastMs = new Float64Array(count);
    this.#mayFallMs = new Float64Array(count).fill(Number.NEGATIVE_INFINITY);
  }

  valueOf(series: number): number {
    return RATIO_GRID[this.index[series]!]!;
  }

  runsOf(series: number): number {
    return this.#runs[series]!;
  }

  /** Ratio of a series over its longest window, not rounded; NaN before the first run. */
  meanOf(series: number): number {
    return this.#ratio(windowOf(series, WINDOWS - 1));
  }

  /** Forgets the runs of a series and sets its value. @param index in the grid. */
  reset(series: number, index: number): void {
    this.index[series] = index;
    this.#runs[series] = 0;
    this.#mayFallMs[series] = Number.NEGATIVE_INFINITY;
    this.#streak[series] = 0;
    this.#sums.fill(0, windowOf(series, 0), windowOf(series + 1, 0));
  }

  /**
   * Adds a run. @param expectedMs above 0. @param variance of the time over its mean², as profiled.
   * @returns whether the value of the series changed.
   */
  add(
    series: number,
    measuredMs: number,
    expectedMs: number,
    variance: number,
    nowMs: number,
  ): boolean {
    const ran = Math.min(measuredMs, MOST_RATIO * expectedMs);
    const sinceMs = nowMs - this.#lastMs[series]!;
    this.#lastMs[series] = nowMs;
    this.#runs[series]!++;
    for (let window = 0; window < WINDOWS; window++) {
      const at = windowOf(series, window);
      this.#count(at, 1 - FORGETS[window]!, ran, expectedMs, variance);
    }
    const forgets = Math.min(FALL_FORGETS, sinceMs / (FALL * this.#rules.beatMs + sinceMs));
    this.#count(windowOf(series, WINDOWS), 1 - forgets, ran, expectedMs, variance);
    if (this.#rules.isSlow) {
      if (this.#runs[series]! < SLOW_RUNS) return false;
      return (
        this.#riseTo(series, this.#shown(series, WINDOWS - 1), nowMs) || this.#fall(series, nowMs)
      );
    }
    return (
      this.#jump(series, ran / expectedMs, variance, nowMs) ||
      this.#rise(series, nowMs) ||
      this.#fall(series, nowMs)
    );
  }

  #count(at: number, kept: number, ran: number, expectedMs: number, variance: number): void {
    const sums = this.#sums;
    const square = expectedMs * expectedMs;
    sums[at + EXPECTED] = sums[at + EXPECTED]! * kept + expectedMs;
    sums[at + MEASURED] = sums[at + MEASURED]! * kept + ran;
    sums[at + SECOND] = sums[at + SECOND]! * kept + (ran * ran) / expectedMs;
    sums[at + SQUARES] = sums[at + SQUARES]! * kept * kept + square;
    sums[at + PROFILED] = sums[at + PROFILED]! * kept * kept + square * variance;
  }

  /** The last runs are all slower by more than chance explains: only they count from now on. */
  #jump(series: number, ratio: number, variance: number, nowMs: number): boolean {
    const value = this.valueOf(series);
    if (ratio <= value * (1 + JUMP_SIGMAS * Math.sqrt(variance))) {
      this.#streak[series] = 0;
      return false;
    }
    const streak = ++this.#streak[series]!;
    const least = streak === 1 ? ratio : Math.min(ratio, this.#least[series]!);
    this.#least[series] = least;
    if (streak < this.#rules.jumpRuns + (variance > NOISY_VARIANCE ? 1 : 0)) return false;
    if (!this.#riseTo(series, nearest(least), nowMs)) return false;
    for (let window = 0; window <= WINDOWS; window++) {
      const at = windowOf(series, window);
      this.#sums.fill(0, at, at + SUMS);
      this.#count(at, 0, least, 1, variance);
      this.#count(at, 1, least, 1, variance);
    }
    return true;
  }

  #rise(series: number, nowMs: number): boolean {
    for (let window = 0; window < WINDOWS; window++) {
      if (!this.#riseTo(series, this.#shown(series, window), nowMs)) continue;
      for (let longer = window + 1; longer < WINDOWS; longer++) this.#copy(series, window, longer);
      return true;
    }
    return false;
  }

  /** The value that a window shows if it refutes that of its series. */
  #shown(series: number, window: number): number {
    const at = windowOf(series, window);
    const index = this.index[series]!;
    const value = RATIO_GRID[index]!;
    const ratio = this.#ratio(at);
    const next = RATIO_GRID[Math.min(index + 1, RATIO_GRID.length - 1)]!;
    if (ratio * ratio <= value * next) return index;
    const isAbove = ratio - RISE_SIGMAS[window]! * this.#errorOf(at, value) > value;
    return isAbove ? nearest(ratio) : index;
  }

  #riseTo(series: number, found: number, nowMs: number): boolean {
    if (found <= this.index[series]!) return false;
    this.index[series] = found;
    this.#streak[series] = 0;
    this.#mayFallMs[series] = nowMs + this.#rules.holdMs;
    return true;
  }

  #fall(series: number, nowMs: number): boolean {
    const index = this.index[series]!;
    if (index <= this.#rules.lowest || nowMs < this.#mayFallMs[series]!) return false;
    const isFaster = index <= UNIT;
    if (isFaster && this.#runs[series]! < FASTER_RUNS) return false;
    const at = windowOf(series, isFaster ? WINDOWS - 1 : WINDOWS);
    const ratio = this.#ratio(at);
    const middle = Math.sqrt(RATIO_GRID[index]! * RATIO_GRID[index - 1]!);
    const margin = isFaster ? FASTER_SIGMAS * this.#errorOf(at, ratio) : 0;
    if (ratio + margin >= middle) return false;
    this.index[series] = index - 1;
    this.#mayFallMs[series] = nowMs + this.#rules.stepMs;
    if (isFaster) return true;
    for (let window = 0; window < WINDOWS; window++) this.#copy(series, WINDOWS, window);
    return true;
  }

  #copy(series: number, from: number, to: number): void {
    const source = windowOf(series, from);
    this.#sums.copyWithin(windowOf(series, to), source, source + SUMS);
  }

  #ratio(at: number): number {
    return this.#sums[at + MEASURED]! / this.#sums[at + EXPECTED]!;
  }

  /** Standard error of a window's ratio. @param value that scales the profile's variance. */
  #errorOf(at: number, value: number): number {
    const sums = this.#sums;
    const expected = sums[at + EXPECTED]!;
    const ratio = sums[at + MEASURED]! / expected;
    const weight = sums[at + SQUARES]! / (expected * expected);
    const spread = Math.max(0, sums[at + SECOND]! / expected - ratio * ratio);
    const seen = weight < 1 ? (spread * weight) / (1 - weight) : 0;
    const profiled = (sums[at + PROFILED]! / (expected * expected)) * value * value;
    return Math.sqrt(Math.max(seen, profiled));
  }
}

/** Index of the first sum of a window. */
function windowOf(series: number, window: number): number {
  return (series * (WINDOWS + 1) + window) * SUMS;
}

/** Returns the index of the grid value that is nearest by ratio. */
function nearest(ratio: number): number {
  let index = 0;
  while (
    index + 1 < RATIO_GRID.length &&
    ratio * ratio > RATIO_GRID[index]! * RATIO_GRID[index + 1]!
  ) {
    index++;
  }
  return index;
}

/** Part of the sums that is forgotten with each run, at least ... */
const TAIL_FORGETS = 1 / 256;
/** ... and the age of runs, in beats, beyond which they are forgotten. */
const MEMORY = 2;
/** Part of the runs that may lie beyond a value; of the profile 1 % lie beyond its p99. */
const RARE = 0.03;
/** Number of runs below which the value is unknown. */
const LEAST_RUNS = 16;
/** Weights are scaled before they get larger, long before they overflow. */
const MOST_WEIGHT = 2 ** 64;
/** Ratio between neighbouring values on the grid, from 1 to 8. */
const STEP = 1.059463;
const STEPS = 37;
const GRID = new Float64Array(STEPS).fill(1);
for (let index = 1; index < STEPS; index++) GRID[index] = GRID[index - 1]! * STEP;
/** A run up to half a step above a value counts as that value. */
const HALF_STEP = Math.sqrt(STEP);

/**
 * The smallest value, at least 1, that no more than `RARE` of the recent runs exceed. A run's ratio
 * is its time over the profile's p99, so that a machine as profiled has 1. Nothing is allocated
 * after construction.
 */
export class TailTracker {
  value = 1;
  /** Weight of the runs between each value of the grid and the one below. */
  readonly #weights = new Float64Array(STEPS + 1);
  /** Weight of the next run: instead of old runs losing weight, new ones have more. */
  #weight = 1;
  #total = 0;
  #runs = 0;
  #lastMs = 0;
  readonly #memoryMs: number;

  constructor(beatMs: number) {
    this.#memoryMs = MEMORY * beatMs;
  }

  /** @returns whether the value changed. */
  add(ratio: number, nowMs: number): boolean {
    const sinceMs = nowMs - this.#lastMs;
    this.#lastMs = nowMs;
    this.#runs++;
    this.#weight /= 1 - Math.max(TAIL_FORGETS, sinceMs / (this.#memoryMs + sinceMs));
    if (this.#weight > MOST_WEIGHT) this.#scale();
    const weights = this.#weights;
    let bin = 0;
    while (bin < STEPS && ratio > GRID[bin]! * HALF_STEP) bin++;
    weights[bin]! += this.#weight;
    this.#total += this.#weight;
    if (this.#runs < LEAST_RUNS) return false;
    let index = STEPS - 1;
    let beyond = weights[STEPS]!;
    while (index > 0 && beyond + weights[index]! <= RARE * this.#total) beyond += weights[index--]!;
    const isChanged = GRID[index]! !== this.value;
    this.value = GRID[index]!;
    return isChanged;
  }

  reset(): void {
    this.value = 1;
    this.#runs = 0;
    this.#weight = 1;
    this.#total = 0;
    this.#weights.fill(0);
  }

  #scale(): void {
    const weights = this.#weights;
    for (let index = 0; index < weights.length; index++) weights[index]! /= this.#weight;
    this.#total /= this.#weight;
    this.#weight = 1;
  }
}
