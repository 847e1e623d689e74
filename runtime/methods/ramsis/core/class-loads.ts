/** Whether classes bring the shares of the load that a bundle was made for. */
import type { RamsisBundle } from "../../../bundle/schema.ts";
import { beatMsOf } from "../../../core/beat.ts";
import {
  LevelChoice,
  type LevelChoiceOptions,
  POOLED_LEVEL_CHOICE,
} from "../../../core/level-choice.ts";
import { LoadMonitor } from "../../../core/load-monitor.ts";
import { type LoadShare, SharedLoad } from "../../../core/load-share.ts";
import { carriedLoads } from "./policy.ts";

/**
 * The first measurement is of the shortest window, and to call a class too large on its account
 * would last until a dip as large.
 */
const CLASS_LEVEL_CHOICE: LevelChoiceOptions = { ...POOLED_LEVEL_CHOICE, startSigmas: 3 };

/**
 * Whether the classes bring what the tables for each of them were made for: their shares of the
 * load of a level.
 *
 * Of each class the load is measured as that of all is, and a level chosen for it among its shares
 * of theirs, with the same regard for noise. Where a class calls for a higher level than the load
 * of all does, the shares are not those of the bundle. A class of which nothing is known brings
 * nothing.
 */
export class ClassLoads {
  readonly #monitors: readonly LoadMonitor[];
  readonly #shared: readonly SharedLoad[];
  #choices: readonly LevelChoice[];

  /** @param workers of the cluster that the bundle is for. */
  constructor(bundle: RamsisBundle, workers: number) {
    const classes = bundle.slo.classes ?? [];
    const beatMs = beatMsOf(bundle.slo);
    this.#monitors = classes.map(() => new LoadMonitor(beatMs));
    this.#shared = classes.map(() => new SharedLoad(workers, beatMs));
    this.#choices = choicesOf(bundle);
  }

  /**
   * Follows other levels from now on; the loads measured so far stay known. @param bundle with the
   * same classes.
   */
  replaceBundle(bundle: RamsisBundle): void {
    this.#choices = choicesOf(bundle);
  }

  /** What others see is not told class by class: theirs are taken for as large as here. */
  follow(share: LoadShare): void {
    for (const shared of this.#shared) shared.follow({ ...share, othersQps: null });
  }

  /** @param queries that came at once. */
  recordArrival(sloClass: number, nowMs: number, queries: number): void {
    this.#monitors[sloClass]?.recordArrival(nowMs, queries);
  }

  /**
   * Takes measurements and tells whether a class brings more than its share of a level. @param
   * level index of the level for the load of all. @param stretch as levels are chosen with.
   */
  exceed(level: number, nowMs: number, stretch: number): boolean {
    let isMore = false;
    for (let sloClass = 0; sloClass < this.#monitors.length; sloClass++) {
      const monitor = this.#monitors[sloClass]!;
      monitor.look(nowMs);
      const load = this.#shared[sloClass]!.of(monitor);
      if (this.#choices[sloClass]!.update(load, nowMs, stretch) > level) isMore = true;
    }
    return isMore;
  }
}

/**
 * Each class chooses among its shares of the levels' loads, and a last one for what is above them
 * all.
 */
function choicesOf(bundle: RamsisBundle): readonly LevelChoice[] {
  const carried = carriedLoads(bundle);
  return (bundle.slo.classes ?? []).map(({ share }) => {
    const upwards = Float64Array.of(...carried.map((qps) => share * qps), Number.POSITIVE_INFINITY);
    return new LevelChoice(upwards, CLASS_LEVEL_CHOICE);
  });
}
