/** The level of one load, whatever other loads there are. */
import type { RamsisLevel } from "stratagem-runtime/internal/bundle/schema";
import type { RamsisFrame } from "../../model/frames.ts";
import { type LevelPlan, levelPlans, onSharedAxes, planningFrame } from "./planning-frame.ts";
import { hasPath } from "./served-level.ts";

export interface LevelKind {
  readonly solveLevel: (frame: RamsisFrame, loadQps: number) => RamsisLevel;
  /** The level of a load with the tables of another level, and what they promise there. */
  readonly withTableOf: (frame: RamsisFrame, loadQps: number, level: RamsisLevel) => RamsisLevel;
}

/**
 * With the smallest margin for the serving path whose simulated promise keeps the ceiling; else the
 * level that comes closest to it.
 */
export function plannedLevel(frame: RamsisFrame, loadQps: number, kind: LevelKind): RamsisLevel {
  let best: RamsisLevel | null = null;
  for (const plan of levelPlans(frame, loadQps)) {
    const level = solvedWith(frame, loadQps, plan, kind);
    if (level.feasible) return level;
    if (best === null || violations(level) < violations(best)) best = level;
  }
  if (best === null) throw new RangeError("a level has a plan");
  return best;
}

function solvedWith(
  frame: RamsisFrame,
  loadQps: number,
  plan: LevelPlan,
  { solveLevel, withTableOf }: LevelKind,
): RamsisLevel {
  const planned = planningFrame(frame, loadQps, plan);
  const solved = solveLevel(planned, loadQps);
  const level = onSharedAxes(frame, planned, solved, plan);
  // On the axes that it was solved on it promises what it was found to promise there.
  const isJudged = !hasPath(frame) && level.actionByState === solved.actionByState;
  return isJudged ? level : withTableOf(frame, loadQps, level);
}

function violations({ expected }: RamsisLevel): number {
  const { violationRate, byClass = {} } = expected;
  return Math.max(violationRate, ...Object.values(byClass).map((one) => one.violationRate));
}
