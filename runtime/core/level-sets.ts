/** Which level decides where a bundle has levels for several paces. */
import { exceeds, LevelChoice, type LevelChoiceOptions } from "./level-choice.ts";
import type { MeasuredLoad } from "./load-monitor.ts";

export interface LoadLevel {
  readonly loadQps: number;
}

/** A level for a machine whose service times are `pace` times the profile. */
export interface PacedLoadLevel extends LoadLevel {
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

/** A set is left for its neighbour once that is nearer to the pace by this factor. */
const MARGIN = 1.05;

/**
 * Chooses a set of levels by the pace of the pool, and in it a level by the load.
 *
 * If all service times are xi times the profile, the system in units of xi ms is the profiled one
 * at load * xi and SLO / xi. A set that was solved for pace g serves a pace xi near g as its own
 * machine at load * xi / g and slack / (xi / g). Where the load, stretched by slow and lost
 * workers, is above the highest level of a set, a set for a slower machine takes over.
 */
export class LevelSets {
  /** Pace that the set in use was solved for. */
  pace = 1;
  readonly #sets: readonly LevelSet[];
  readonly #options: LevelChoiceOptions;
  #set = 0;

  /** @param levels at least one. @param paceLevels of which each set is ascending by load. */
  constructor(
    levels: readonly LoadLevel[],
    paceLevels: readonly PacedLoadLevel[],
    options: LevelChoiceOptions,
  ) {
    this.#options = options;
    const paces = [...new Set(paceLevels.map(({ pace }) => pace))].sort((a, b) => a - b);
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
   * Returns the index of the level that decides among levels and pace levels in this order.
   * @param poolPace of the workers that are up. @param stretch as `PaceMonitor` has it.
   */
  update(load: MeasuredLoad, nowMs: number, poolPace: number, stretch: number): number {
    const index = this.#sets.length === 1 ? 0 : this.#choose(load, poolPace, stretch);
    const set = this.#sets[index]!;
    if (index !== this.#set) {
      this.#set = index;
      this.pace = set.pace;
      set.choice.resume(nowMs);
    }
    return set.first + set.choice.update(load, nowMs, stretch / set.pace);
  }

  #choose(load: MeasuredLoad, poolPace: number, stretch: number): number {
    const sets = this.#sets;
    let index = this.#set;
    while (index + 1 < sets.length && isNearer(sets[index + 1]!, sets[index]!, poolPace)) index++;
    while (index > 0 && isNearer(sets[index - 1]!, sets[index]!, poolPace)) {
      // A set that was taken for its capacity is kept while the load needs it.
      if (this.#isShort(sets[index - 1]!, load, stretch, -this.#options.fallSigmas)) break;
      index--;
    }
    const { riseSigmas } = this.#options;
    while (index + 1 < sets.length && this.#isShort(sets[index]!, load, stretch, riseSigmas)) {
      if (sets[index + 1]!.topQps <= sets[index]!.topQps) break;
      index++;
    }
    return index;
  }

  /** Whether the load is above what a set carries, by so many standard deviations. */
  #isShort({ topQps }: LevelSet, { isKnown, window }: MeasuredLoad, stretch: number, by: number) {
    return isKnown && exceeds(window, topQps / stretch, by);
  }
}

function isNearer(one: LevelSet, other: LevelSet, pace: number): boolean {
  return distance(one.pace, pace) * MARGIN < distance(other.pace, pace);
}

function distance(one: number, other: number): number {
  return one > other ? one / other : other / one;
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
