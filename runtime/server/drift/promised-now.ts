/** What a policy promises of the load and the pace that are measured. */

import type { Bundle } from "../../bundle/schema.ts";
import { levelForLoad } from "../../core/level-choice.ts";
import { figuresAtPace } from "../../tell/pace-promises.ts";
import type { PromisedNow } from "./watched.ts";

/** What levels of all methods state, as far as promises are watched. */
interface Stated {
  readonly violationRate: number;
  readonly accuracyPerSatisfied?: number;
  readonly byPace?: readonly StatedAtPace[];
}

/** What a level states of a machine whose service times are `pace` times the profile. */
interface StatedAtPace {
  readonly pace: number;
  readonly accuracyPerQuery?: number;
  readonly violationRate: number;
}

export interface MeasuredNow {
  /** Index of the level that decided last, among levels and then pace levels. */
  readonly level: number;
  /** NaN while it is not known. */
  readonly loadQps: number;
  readonly pace: number;
}

/**
 * A slower machine is promised what the level for the measured load states of the next higher pace.
 * @returns undefined where nothing is promised: before the first decision, and beyond all paces.
 */
export function promisedNow(bundle: Bundle, now: MeasuredNow): PromisedNow | undefined {
  const { level, loadQps, pace } = now;
  const own = bundle.levels[levelForLoad(bundle.levels, loadQps)];
  const byPace = pace > 1 ? own && statedOf(own).byPace : undefined;
  if (byPace === undefined) {
    const decides = bundle.levels[level];
    if (decides === undefined) return undefined;
    const { violationRate, accuracyPerSatisfied } = statedOf(decides);
    return { feasible: decides.feasible, violationRate, accuracyPerSatisfied };
  }
  const stated = figuresAtPace(byPace, pace);
  if (stated === undefined) return undefined;
  const { violationRate, accuracyPerQuery } = stated;
  return {
    feasible: true,
    violationRate,
    accuracyPerSatisfied:
      accuracyPerQuery === undefined || violationRate >= 1
        ? undefined
        : accuracyPerQuery / (1 - violationRate),
  };
}

/** Of levels with several plans, the one that is followed at their load is what they promise. */
function statedOf(level: Bundle["levels"][number]): Stated {
  return "expected" in level ? level.expected : level.steady.expected;
}
