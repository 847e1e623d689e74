/** Which load level decides, while the load is only measured: in one set, and of sets by pace. */
import { assert } from "./assert.ts";
import type { LoadWindow, MeasuredLoad } from "./load-monitor.ts";

export interface LevelChoiceOptions {
  /** Excess over the level's load that is taken for a rise at once, in standard deviations. */
  readonly riseSigmas: number;
  /** Excess of a count too short for a load that refutes the lowest level, likewise. */
  readonly refuteSigmas: number;
  /** Excess that the first known load may have over the level chosen for it, likewise. */
  readonly startSigmas: number;
  /** Shortfall of the load below a lower level before that level takes over, likewise. */
  readonly fallSigmas: number;
  /** Excess that may last for ever, likewise. */
  readonly allowanceSigmas: number;
  /** Excess queries beyond the allowance, summed over time, that are taken for a rise, likewise. */
  readonly driftSigmas: number;
}

export const DEFAULT_LEVEL_CHOICE: LevelChoiceOptions = {
  riseSigmas: 3.5,
  refuteSigmas: 3,
  startSigmas: 1,
  fallSigmas: 1.5,
  allowanceSigmas: 0.35,
  driftSigmas: 5,
};

/**
 * For a pooled queue, whose price rises with its length: the policy of one level carries noise and
 * a few percent more load by itself, so a rise is believed later. Source:
 * docs/decisions/0005-level-choice.md.
 */
export const POOLED_LEVEL_CHOICE: LevelChoiceOptions = {
  ...DEFAULT_LEVEL_CHOICE,
  riseSigmas: 5,
  allowanceSigmas: 0.5,
  driftSigmas: 8,
};

/**
 * Chooses the load level that decides: the lowest one that carries the measured load, where a
 * difference that may be noise changes nothing; the lowest of all before any measurement.
 *
 * The count of a window is noisy. At a steady load of λ queries/s that arrive one by one it has,
 * over w seconds, mean λw and standard deviation √(λw): at 2000 queries/s and half a second 3 %, in
 * a window of 64 arrivals 13 %. Following it would swing between two levels half of the time. So a
 * level is left
 * - upward at once when the measured load exceeds it by `riseSigmas` standard deviations: a burst;
 * - upward as well when smaller excesses add up: a cumulative sum of the queries above the level's
 *   load, less `allowanceSigmas`, reaches `driftSigmas` standard deviations (Page's CUSUM test,
 *   "Continuous Inspection Schemes", 1954). At 2000 queries/s 5 % take about two seconds;
 * - downward when a lower level exceeds the measured load by `fallSigmas` standard deviations.
 *
 * At loads where the window is longer than half a beat, a burst need not wait for it: while the
 * newest half beat alone exceeds the level by `riseSigmas`, the level that carries that decides,
 * without a lasting change.
 *
 * A record too short to be reliable can only show that the lowest level is too low. A count that
 * this level would reach as rarely as it exceeds `refuteSigmas` lets the level that carries the
 * count decide. Once the load is known, no level has precedence, so the first choice is the lowest
 * level that is not `startSigmas` too low.
 */
export class LevelChoice {
  readonly #levelLoadQps: Float64Array;
  readonly #options: LevelChoiceOptions;
  #level = 0;
  #isKnown = false;
  /** Queries above the current level's load and allowance, summed since the sum was last 0. */
  #excessQueries = 0;
  #updatedMs = Number.NaN;
  #stretch = 1;

  /** @param levelLoadQps loads of the levels, ascending; kept, not copied: they may change. */
  constructor(levelLoadQps: Float64Array, options = DEFAULT_LEVEL_CHOICE) {
    assert(levelLoadQps.length > 0, "at least one level is needed");
    this.#levelLoadQps = levelLoadQps;
    this.#options = options;
  }

  /** Resumes after a time in which other levels decided. */
  resume(nowMs: number): void {
    this.#updatedMs = nowMs;
    this.#excessQueries = 0;
  }

  /**
   * Takes the measured load and returns the index of the level that decides now.
   * @param stretch factor by which the machine is short of what the levels were compiled for: a
   * level carries its load divided by it.
   * @param mayFall whether a lower level may take over.
   */
  update(
    { isKnown, window, newest, own }: MeasuredLoad,
    nowMs: number,
    stretch = 1,
    mayFall = true,
  ): number {
    this.#stretch = stretch;
    if (!isKnown) return this.#unlessRefuted(window);
    const sinceMs = nowMs - this.#updatedMs;
    this.#updatedMs = nowMs;
    if (this.#isKnown) this.#follow(window, sinceMs, mayFall);
    else this.#start(window);
    const level = newest.ms < window.ms ? this.#inBurst(newest) : this.#level;
    return own === undefined ? level : Math.max(level, this.#inBurst(own));
  }

  /** Load that a level carries on this machine now. */
  #loadOf(level: number): number {
    return this.#levelLoadQps[level]! / this.#stretch;
  }

  /** The lowest level, or if a record speaks against it, the lowest that carries the record. */
  #unlessRefuted(window: LoadWindow): number {
    const { queries, ms, clump } = window;
    const { refuteSigmas } = this.#options;
    const mean = (this.#loadOf(0) * ms) / 1000;
    // The quantile of Cornish and Fisher: of so few queries the skewness is no small matter.
    const skewness = (clump * (refuteSigmas * refuteSigmas - 1)) / 6;
    const limit = mean + refuteSigmas * Math.sqrt(mean * clump) + skewness;
    return queries > limit ? this.#lowestFor(loadQpsOf(window), 0) : 0;
  }

  #start(window: LoadWindow): void {
    const last = this.#levelLoadQps.length - 1;
    const { startSigmas } = this.#options;
    let level = 0;
    while (level < last && exceeds(window, this.#loadOf(level), startSigmas)) level++;
    this.#isKnown = true;
    this.#moveTo(level);
  }

  #follow(window: LoadWindow, sinceMs: number, mayFall: boolean): void {
    const { fallSigmas } = this.#options;
    let level = this.#level;
    while (mayFall && level > 0 && !exceeds(window, this.#loadOf(level - 1), -fallSigmas)) level--;
    if (level !== this.#level) this.#moveTo(level);
    else if (this.#rises(window, sinceMs)) this.#moveTo(this.#lowestFor(loadQpsOf(window), level));
  }

  #rises(window: LoadWindow, sinceMs: number): boolean {
    const { riseSigmas, allowanceSigmas, driftSigmas } = this.#options;
    const loadQps = loadQpsOf(window);
    const levelQps = this.#loadOf(this.#level);
    const sigmaQps = noiseQps(levelQps, window);
    const excessQps = loadQps - levelQps - allowanceSigmas * sigmaQps;
    if (sinceMs > 0) {
      this.#excessQueries = Math.max(0, this.#excessQueries + (excessQps * sinceMs) / 1000);
    }
    if (loadQps <= levelQps) return false;
    const sigmaQueries = (sigmaQps * window.ms) / 1000;
    return (
      loadQps > levelQps + riseSigmas * sigmaQps || this.#excessQueries > driftSigmas * sigmaQueries
    );
  }

  #inBurst(newest: LoadWindow): number {
    const level = this.#level;
    // A single arrival is no burst, however many queries it brings.
    if (newest.queries <= newest.clump) return level;
    if (!exceeds(newest, this.#loadOf(level), this.#options.riseSigmas)) return level;
    return this.#lowestFor(loadQpsOf(newest), level);
  }

  /** The lowest level, from one on, that carries a load, or the top one. */
  #lowestFor(loadQps: number, from: number): number {
    const last = this.#levelLoadQps.length - 1;
    let level = from;
    while (level < last && this.#loadOf(level) < loadQps) level++;
    return level;
  }

  #moveTo(level: number): void {
    this.#level = level;
    this.#excessQueries = 0;
  }
}

/**
 * Returns the index of the lowest level that carries a load; the highest if none does or the load
 * is NaN (unknown).
 */
export function levelForLoad(
  levels: readonly { readonly loadQps: number }[],
  loadQps: number,
): number {
  const level = levels.findIndex((one) => one.loadQps >= loadQps);
  return level < 0 ? levels.length - 1 : level;
}

function loadQpsOf({ queries, ms }: LoadWindow): number {
  return (queries * 1000) / ms;
}

/** Whether a load exceeds a level's by this many standard deviations of its measurement. */
export function exceeds(window: LoadWindow, levelQps: number, sigmas: number): boolean {
  return loadQpsOf(window) > levelQps + sigmas * noiseQps(levelQps, window);
}

/** Standard deviation of the load that a window shows of clumps that come as a Poisson process. */
function noiseQps(loadQps: number, { ms, clump }: LoadWindow): number {
  return Math.sqrt((loadQps * clump * 1000) / ms);
}

/** Returns the level at an index. @throws RangeError if there is no such level. */
export function levelAt<L>(levels: readonly L[], index: number): L {
  const level = levels[index];
  if (level === undefined) throw new RangeError("the level is not in the bundle");
  return level;
}

interface LoadLevel {
  readonly loadQps: number;
}

/** A level for a machine whose service times are `pace` times the profile. */
interface PacedLoadLevel extends LoadLevel {
  readonly pace: number;
}

/** The levels of one pace, ascending by load. */
interface LevelSet {
  readonly pace: number;
  /** Index of its first level among all. */
  readonly first: number;
  /** Highest load times pace: the load that the level carries on a machine as profiled. */
  readonly topQps: number;
  readonly choice: LevelChoice;
}

/** A pace may be above that of a set by this factor before the next set takes over. */
const TOLERANCE = 1.08;
/** Beats that a lower level waits after a change, so that spells cannot make levels flicker. */
const HOLD = 1;

/**
 * Chooses a set of levels by the pace of the workers, and in it a level by the load.
 *
 * If all service times are xi times the profile then, in units of xi ms, the system is the profiled
 * one at load * xi and SLO / xi. A set that was solved for pace g serves a pace xi up to g as its
 * own machine at load * xi / g and slack / (xi / g): batches end earlier than its tables reckon,
 * and a query that has just arrived has the whole SLO left. Where the load, stretched by slow and
 * lost workers, is above the highest level of a set, a set for a slower machine takes over.
 */
export class LevelSets {
  /** Pace that the set in use was solved for. */
  pace = 1;
  readonly #sets: readonly LevelSet[];
  readonly #options: LevelChoiceOptions;
  readonly #holdMs: number;
  #set = 0;
  #level = -1;
  #changedMs = Number.NEGATIVE_INFINITY;

  /** @param levels at least one. @param paceLevels ascending by pace, and of one pace by load. */
  constructor(
    levels: readonly LoadLevel[],
    paceLevels: readonly PacedLoadLevel[],
    options: LevelChoiceOptions,
    beatMs: number,
  ) {
    this.#options = options;
    this.#holdMs = HOLD * beatMs;
    const paces = [...new Set(paceLevels.map(({ pace }) => pace))];
    this.#sets = [
      setOf(1, 0, levels, options),
      ...paces.map((pace) => {
        const first = paceLevels.findIndex((level) => level.pace === pace);
        const own = paceLevels.filter((level) => level.pace === pace);
        return setOf(pace, levels.length + first, own, options);
      }),
    ];
  }

  /**
   * Returns the index of the level that decides among levels and pace levels in this order. A rise
   * is followed at once, a fall a beat after the last change.
   * @param pace of most workers. @param stretch as `PaceMonitor` has it.
   */
  update(load: MeasuredLoad, nowMs: number, pace: number, stretch: number): number {
    const isHeld = nowMs - this.#changedMs < this.#holdMs;
    const chosen = this.#sets.length === 1 ? 0 : this.#choose(load, pace, stretch);
    const index = isHeld ? Math.max(chosen, this.#set) : chosen;
    const set = this.#sets[index]!;
    const isOther = index !== this.#set;
    if (isOther) {
      this.#set = index;
      this.pace = set.pace;
      set.choice.resume(nowMs);
    }
    const level = set.first + set.choice.update(load, nowMs, stretch / set.pace);
    if (level === this.#level || (isHeld && !isOther && level < this.#level)) return this.#level;
    // Before the load is known, changes follow guesses, and the first known load is not held back.
    if (load.isKnown) this.#changedMs = nowMs;
    this.#level = level;
    return level;
  }

  #choose(load: MeasuredLoad, pace: number, stretch: number): number {
    const sets = this.#sets;
    const { riseSigmas, fallSigmas } = this.#options;
    let index = 0;
    while (index + 1 < sets.length) {
      const set = sets[index]!;
      const isSlower = pace > set.pace * TOLERANCE;
      // A set that was taken for its capacity is kept while the load may need it.
      const sigmas = index >= this.#set ? riseSigmas : -fallSigmas;
      const isShort =
        sets[index + 1]!.topQps > set.topQps && isAbove(load, set.topQps / stretch, sigmas);
      if (!isSlower && !isShort) break;
      index++;
    }
    return index;
  }
}

function isAbove({ isKnown, window }: MeasuredLoad, levelQps: number, sigmas: number): boolean {
  return isKnown && exceeds(window, levelQps, sigmas);
}

function setOf(
  pace: number,
  first: number,
  levels: readonly LoadLevel[],
  options: LevelChoiceOptions,
): LevelSet {
  const loads = Float64Array.from(levels, ({ loadQps }) => loadQps);
  const topQps = (loads.at(-1) ?? 0) * pace;
  return { pace, first, topQps, choice: new LevelChoice(loads, options) };
}
