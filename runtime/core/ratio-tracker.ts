/** Ratios of measured to expected times, tracked for many series and rounded to a grid. */

/** Values that a ratio can have, ascending. */
export const RATIO_GRID = Float64Array.of(
  0.5,
  0.65,
  0.8,
  1,
  1.15,
  1.3,
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

/** A window forgets this part of what it has seen with each run; the shortest first. */
const FORGETS = Float64Array.of(1 / 4, 1 / 16, 1 / 256);
const WINDOWS = 3;
const LONGEST = WINDOWS - 1;
/** A single run counts at most as so many times its expected time. */
const MOST_RATIO = 32;
/** Fewer runs than this change nothing. */
const LEAST_RUNS = 2;
/** Standard errors by which a short window refutes the longest one. */
const CHANGE_SIGMAS = 4;
/** Standard errors between a ratio that was seen and the value it refutes. */
const RISE_SIGMAS = 3;
const FALL_SIGMAS = 1;
/** A ratio below 1 is believed only after so many runs and by so many standard errors. */
const FASTER_RUNS = 64;
const FASTER_SIGMAS = 4;

export interface RatioRules {
  /** Time after a rise in which the value does not fall, ms. */
  readonly holdMs: number;
  /** Time between two steps down, ms. */
  readonly stepMs: number;
  /** Runs below which the value does not change. */
  readonly leastRuns?: number;
  /** The lowest value on the grid, an index. */
  readonly lowest?: number;
}

/**
 * One value on `RATIO_GRID` for each of `count` series of runs, 1 at first.
 *
 * Each series keeps windows of 4, 16 and 256 runs. A window's ratio is the sum of measured times
 * over the sum of expected times, so a stall weighs as much as the time that it takes. The longest
 * window decides; where a shorter one differs from it by more than chance explains, the longest is
 * cut to that one. The value rises at once when the ratio exceeds it by `RISE_SIGMAS` standard
 * errors, in any window or in each of the last two runs. The error is the larger of what the runs show and what the profile says, so one slow run
 * changes nothing, two equally slow runs do, and rare long stalls do once there are enough of them.
 * The value falls one step at a time, after `holdMs`, when the ratio is below the middle between
 * two steps. Nothing is allocated after construction.
 */
export class RatioTracker {
  /** Index in the grid by series. */
  readonly index: Uint8Array;
  readonly #rules: Required<RatioRules>;
  readonly #runs: Uint32Array;
  /** [count, WINDOWS] sums, forgotten at the rate of the window. */
  readonly #expected: Float64Array;
  readonly #measured: Float64Array;
  /** Of measured² / expected, and of the squares of expected times. */
  readonly #second: Float64Array;
  readonly #squares: Float64Array;
  /** Of expected² times the profile's variance over mean². */
  readonly #profiled: Float64Array;
  readonly #mayFallMs: Float64Array;
  /** Ratio of the run before the last one. */
  readonly #previous: Float64Array;
  /** [count, 2]: variance of single runs before the last two of them. */
  readonly #spread: Float64Array;

  constructor(count: number, rules: RatioRules) {
    this.#rules = { leastRuns: LEAST_RUNS, lowest: 0, ...rules };
    this.index = new Uint8Array(count).fill(UNIT);
    this.#runs = new Uint32Array(count);
    const sums = () => new Float64Array(count * WINDOWS);
    this.#expected = sums();
    this.#measured = sums();
    this.#second = sums();
    this.#squares = sums();
    this.#profiled = sums();
    this.#mayFallMs = new Float64Array(count).fill(Number.NEGATIVE_INFINITY);
    this.#previous = new Float64Array(count);
    this.#spread = new Float64Array(2 * count);
  }

  valueOf(series: number): number {
    return RATIO_GRID[this.index[series]!]!;
  }

  /** Runs that a series has seen. */
  runsOf(series: number): number {
    return this.#runs[series]!;
  }

  /** Ratio of a series over its longest window, not rounded; NaN before the first run. */
  meanOf(series: number): number {
    const at = series * WINDOWS + LONGEST;
    return this.#measured[at]! / this.#expected[at]!;
  }

  /** Forgets what a series has seen and sets its value. @param index in the grid. */
  reset(series: number, index: number): void {
    this.index[series] = index;
    this.#mayFallMs[series] = Number.NEGATIVE_INFINITY;
    this.#runs[series] = 0;
    const from = series * WINDOWS;
    this.#expected.fill(0, from, from + WINDOWS);
    this.#measured.fill(0, from, from + WINDOWS);
    this.#second.fill(0, from, from + WINDOWS);
    this.#squares.fill(0, from, from + WINDOWS);
    this.#profiled.fill(0, from, from + WINDOWS);
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
    const runs = ++this.#runs[series]!;
    const ran = Math.min(measuredMs, MOST_RATIO * expectedMs);
    const ratio = ran / expectedMs;
    const both = Math.min(ratio, this.#previous[series]!);
    this.#previous[series] = ratio;
    const spread = this.#spread[2 * series]!;
    this.#spread[2 * series] = this.#spread[2 * series + 1]!;
    this.#spread[2 * series + 1] = this.#spreadOf(series * WINDOWS + LONGEST);
    for (let window = 0; window < WINDOWS; window++) {
      const at = series * WINDOWS + window;
      const kept = 1 - FORGETS[window]!;
      this.#expected[at] = this.#expected[at]! * kept + expectedMs;
      this.#measured[at] = this.#measured[at]! * kept + ran;
      this.#second[at] = this.#second[at]! * kept + (ran * ran) / expectedMs;
      this.#squares[at] = this.#squares[at]! * kept * kept + expectedMs * expectedMs;
      this.#profiled[at] = this.#profiled[at]! * kept * kept + expectedMs * expectedMs * variance;
    }
    if (runs < this.#rules.leastRuns) return false;
    const single = this.#highest(series, both, Math.max(spread, variance));
    this.#cut(series);
    return this.#rise(series, single, nowMs) || this.#fall(series, nowMs);
  }

  /** Cuts the longest window to the shortest one that shows a change. */
  #cut(series: number): void {
    const longest = series * WINDOWS + LONGEST;
    const ratio = this.#measured[longest]! / this.#expected[longest]!;
    const spread = this.#spreadOf(longest);
    for (let at = series * WINDOWS; at < longest; at++) {
      const expected = this.#expected[at]!;
      const own = this.#measured[at]! / expected;
      const squared = expected * expected;
      const seen = (spread * this.#squares[at]!) / squared;
      const profiled = (this.#profiled[at]! / squared) * ratio * ratio;
      const error = Math.sqrt(Math.max(seen, profiled));
      if (Math.abs(own - ratio) <= CHANGE_SIGMAS * error) continue;
      for (let window = at + 1; window <= longest; window++) this.#copy(at, window);
      return;
    }
  }

  #copy(from: number, to: number): void {
    this.#expected[to] = this.#expected[from]!;
    this.#measured[to] = this.#measured[from]!;
    this.#second[to] = this.#second[from]!;
    this.#squares[to] = this.#squares[from]!;
    this.#profiled[to] = this.#profiled[from]!;
  }

  /**
   * The highest value that the last two runs, or a window, show.
   * @param both the lower ratio of the two. @param variance of a single run's ratio.
   */
  #highest(series: number, both: number, variance: number): number {
    let highest = this.index[series]!;
    const value = RATIO_GRID[highest]!;
    const longest = series * WINDOWS + LONGEST;
    const error = Math.sqrt(variance) * value;
    if (both - CHANGE_SIGMAS * error > value) highest = Math.max(highest, nearest(both));
    for (let at = series * WINDOWS; at <= longest; at++) {
      const ratio = this.#measured[at]! / this.#expected[at]!;
      const sigmas = at === longest ? RISE_SIGMAS : CHANGE_SIGMAS;
      if (ratio - sigmas * this.#errorOf(at, value) > value) {
        highest = Math.max(highest, nearest(ratio));
      }
    }
    return highest;
  }

  #rise(series: number, found: number, nowMs: number): boolean {
    if (found <= this.index[series]!) return false;
    this.index[series] = found;
    this.#mayFallMs[series] = nowMs + this.#rules.holdMs;
    return true;
  }

  #fall(series: number, nowMs: number): boolean {
    const index = this.index[series]!;
    if (index <= this.#rules.lowest || nowMs < this.#mayFallMs[series]!) return false;
    const isFaster = index <= UNIT;
    if (isFaster && this.#runs[series]! < FASTER_RUNS) return false;
    const at = series * WINDOWS + LONGEST;
    const ratio = this.#measured[at]! / this.#expected[at]!;
    const value = RATIO_GRID[index]!;
    const middle = Math.sqrt(value * RATIO_GRID[index - 1]!);
    const sigmas = isFaster ? FASTER_SIGMAS : FALL_SIGMAS;
    if (ratio + sigmas * this.#errorOf(at, ratio) >= middle) return false;
    this.index[series] = index - 1;
    this.#mayFallMs[series] = nowMs + this.#rules.stepMs;
    return true;
  }

  /** Variance of single runs in a window, as far as it shows any. */
  #spreadOf(at: number): number {
    const expected = this.#expected[at]!;
    if (expected === 0) return 0;
    const ratio = this.#measured[at]! / expected;
    const weight = this.#squares[at]! / (expected * expected);
    if (weight >= 1) return 0;
    return Math.max(0, this.#second[at]! / expected - ratio * ratio) / (1 - weight);
  }

  /** Standard error of a window's ratio. @param value that scales the profile's variance. */
  #errorOf(at: number, value: number): number {
    const squared = this.#expected[at]! * this.#expected[at]!;
    const seen = (this.#spreadOf(at) * this.#squares[at]!) / squared;
    const profiled = (this.#profiled[at]! / squared) * value * value;
    return Math.sqrt(Math.max(seen, profiled));
  }
}

/** Index of the value of the grid that is nearest by ratio. */
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
