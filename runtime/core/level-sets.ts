/** Which level decides where a bundle has levels for several paces. */
import { exceeds, LevelChoice, type LevelChoiceOptions } from "./level-choice.ts";
import type { MeasuredLoad } from "./load-monitor.ts";

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
  /** Highest load times pace: what it carries on a machine as profiled. */
  readonly topQps: number;
  readonly choice: LevelChoice;
}

/** A pace may be above that of a set by this factor before the next set takes over. */
const TOLERANCE = 1.08;
/** A lower level waits so many beats after a change, so spells cannot make levels flicker. */
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
