/** Promises of a policy at the measured load and pace. */

import type { Bundle } from "../../bundle/schema.ts";
import { levelForLoad } from "../../core/level-choice.ts";
import { figuresAtPace, paceLevelsOf } from "../../describe/pace-promises.ts";
import type { PromisedLatency, PromisedNow } from "./watched.ts";

/** The watched part of the promises of any method's level. */
interface Stated {
  readonly violationRate: number;
  readonly accuracyPerSatisfied?: number;
  readonly latencyMs?: PromisedLatency;
  readonly queueMs?: PromisedLatency;
  /** Stated by all methods but RAMSIS. */
  readonly latencyMsP50?: number;
  readonly latencyMsP99?: number;
  readonly byPace?: readonly StatedAtPace[];
}

/** Promise of a level on a machine whose service times are `pace` times the profile. */
interface StatedAtPace extends PromisedLatency {
  readonly pace: number;
  readonly accuracyPerQuery?: number;
  readonly violationRate: number;
  readonly queueMs?: PromisedLatency;
}

export interface MeasuredNow {
  /** Index of the level that decided last, among levels and then pace levels. */
  readonly level: number;
  /** NaN while it is not known. */
  readonly loadQps: number;
  readonly pace: number;
}

/**
 * Returns the promise of the level for the measured load; slower machines use the promise for the
 * next higher pace. While a level for slower machines still decides, its pace counts.
 * @returns undefined where nothing is promised: before the first decision, and beyond all paces.
 */
export function promisedNow(bundle: Bundle, now: MeasuredNow): PromisedNow | undefined {
  const { level, loadQps } = now;
  const pace = Math.max(now.pace, paceLevelsOf(bundle)[level - bundle.levels.length]?.pace ?? 1);
  const own = bundle.levels[levelForLoad(bundle.levels, loadQps)];
  const byPace = pace > 1 ? own && statedOf(own).byPace : undefined;
  if (byPace === undefined) {
    const decides = bundle.levels[level];
    if (decides === undefined) return undefined;
    const stated = statedOf(decides);
    const { violationRate, accuracyPerSatisfied, queueMs } = stated;
    const times = { latencyMs: latencyOf(stated), queueMs };
    return { feasible: decides.feasible, violationRate, accuracyPerSatisfied, ...times };
  }
  const stated = figuresAtPace(byPace, pace);
  if (stated === undefined) return undefined;
  const { violationRate, accuracyPerQuery, p50, p99, queueMs } = stated;
  return {
    feasible: true,
    violationRate,
    latencyMs: { p50, p99 },
    queueMs,
    accuracyPerSatisfied:
      accuracyPerQuery === undefined || violationRate >= 1
        ? undefined
        : Math.min(1, accuracyPerQuery / (1 - violationRate)),
  };
}

/** A level with several plans promises the plan that is followed at its load. */
function statedOf(level: Bundle["levels"][number]): Stated {
  return "expected" in level ? level.expected : level.steady.expected;
}

function latencyOf({ latencyMs, latencyMsP50: p50, latencyMsP99: p99 }: Stated) {
  if (latencyMs !== undefined) return latencyMs;
  return p50 === undefined || p99 === undefined ? undefined : { p50, p99 };
}
