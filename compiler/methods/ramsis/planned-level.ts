/** The level of one load, whatever other loads there are. */
import {
  type Expected,
  type RamsisLevel,
  violationCeiling,
} from "stratagem-runtime/internal/bundle/schema";
import type { RamsisFrame } from "../../model/frames.ts";
import { latencyCost } from "./classed-level.ts";
import { type LevelPlan, levelPlans, onSharedAxes, planningFrame } from "./planning-frame.ts";
import { hasPath, servedLevel, servedLook } from "./served-level.ts";
import { simpleLevels } from "./simple-levels.ts";
import { type LevelTables, ramsis } from "./solve/ramsis.ts";

export interface LevelKind {
  /** The tables for a load, with or without what they promise. */
  readonly solve: (frame: RamsisFrame, loadQps: number) => RamsisLevel | LevelTables;
  /** The level of a load with the tables of another level, and what they promise there. */
  readonly withTableOf: (frame: RamsisFrame, loadQps: number, level: LevelTables) => RamsisLevel;
}

/** Accuracy that a violation per query too many costs a level, as a candidate of the search. */
const VIOLATION_PENALTY = 20;
/** Accuracy per query by which a simple rule has to be better than what was solved. */
const LEAST_GAIN = 1e-4;
/** Violations of a load that is more than the workers can carry: only rules are tried beside. */
const HOPELESS = 0.1;
/** Rules that are judged by a whole promise, of the best and of those with the least violations. */
const FINALISTS = 3;

/**
 * With the smallest margin for the serving path whose simulated promise keeps the ceiling, or a
 * simple rule that does better under the same simulation; else what comes closest to the ceiling.
 */
export function plannedLevel(frame: RamsisFrame, loadQps: number, kind: LevelKind): RamsisLevel {
  const tried: LevelPlan[] = [];
  let best: RamsisLevel | null = null;
  for (const plan of levelPlans(frame, loadQps)) {
    const level = bestSolved(frame, loadQps, plan, kind);
    const isSafer = best === null || violations(level) < violations(best);
    tried.push(plan);
    if (isSafer) best = level;
    // If a larger margin does not help, the load is more than the workers can carry.
    if (level.feasible || !isSafer || violations(level) > HOPELESS) break;
  }
  if (best === null) throw new RangeError("a level has a plan");
  return hasPath(frame) ? bestOf(frame, best, simpleLevels(frame, best, tried)) : best;
}

/** The level of a load with the best table, of levels around it, that keeps the ceiling. */
export function movedLevel(
  frame: RamsisFrame,
  loadQps: number,
  around: readonly RamsisLevel[],
  { withTableOf }: Pick<LevelKind, "withTableOf">,
): RamsisLevel {
  const looked = around.map((level) => {
    return { level, worth: pricedAt(frame, ramsis.glimpse(frame, { ...level, loadQps })) };
  });
  let best: RamsisLevel | null = null;
  for (const { level } of looked.sort((a, b) => b.worth - a.worth)) {
    const moved = withTableOf(frame, loadQps, level);
    if (best === null || isBetter(frame, moved, best)) best = moved;
    // A glimpse does not see the way through the server.
    if (best.feasible && !hasPath(frame)) break;
  }
  if (best === null) throw new RangeError("a level is moved from another one");
  return best;
}

/**
 * With the times that promises are made with; beside a serving path, which takes of the workers'
 * time too, also with the percentile of each batch, of which that may be a part.
 */
function bestSolved(
  frame: RamsisFrame,
  loadQps: number,
  plan: LevelPlan,
  kind: LevelKind,
): RamsisLevel {
  const own = solvedWith(frame, loadQps, plan, kind);
  const { policy } = frame;
  if (!hasPath(frame) || policy.serviceTimes === "p95" || violations(own) > HOPELESS) return own;
  const careful: RamsisFrame = { ...frame, policy: { ...policy, serviceTimes: "p95" } };
  const other = solvedWith(careful, loadQps, plan, kind);
  return isBetter(frame, other, own) ? other : own;
}

function solvedWith(
  frame: RamsisFrame,
  loadQps: number,
  plan: LevelPlan,
  { solve, withTableOf }: LevelKind,
): RamsisLevel {
  const planned = planningFrame(frame, loadQps, plan);
  const solved = solve(planned, loadQps);
  const level = onSharedAxes(frame, planned, solved, plan);
  // On the axes that it was solved on it promises what it was found to promise there.
  const isJudged = !hasPath(frame) && level.actionByState === solved.actionByState;
  return isJudged && "expected" in level ? level : withTableOf(frame, loadQps, level);
}

/** The solved level, or the best of the others where that one is better. */
function bestOf(
  frame: RamsisFrame,
  solved: RamsisLevel,
  others: readonly RamsisLevel[],
): RamsisLevel {
  const ceiling = violationCeiling(frame.slo);
  const look = (level: RamsisLevel) => {
    const { accuracy, violationRate } = servedLook(frame, level);
    const score = accuracy - VIOLATION_PENALTY * Math.max(0, violationRate - ceiling);
    return { level, score, violationRate };
  };
  const looked = others.map(look);
  const byScore = [...looked].sort((a, b) => b.score - a.score).slice(0, FINALISTS);
  const bySafety = [...looked].sort((a, b) => a.violationRate - b.violationRate);
  const least = look(solved).score + LEAST_GAIN;
  let best = solved;
  const finalists = solved.feasible
    ? byScore.filter(({ score }) => score > least)
    : new Set([...byScore, ...bySafety.slice(0, FINALISTS)]);
  for (const { level } of finalists) {
    const judged = servedLevel(frame, level);
    if (isBetter(frame, judged, best)) best = judged;
  }
  return best;
}

function pricedAt(
  frame: RamsisFrame,
  figures: Pick<Expected, "accuracyPerQuery" | "latencyMs">,
): number {
  return figures.accuracyPerQuery - latencyCost(frame, figures);
}

function isBetter(frame: RamsisFrame, one: RamsisLevel, other: RamsisLevel): boolean {
  if (one.feasible !== other.feasible) return one.feasible;
  if (!one.feasible) return worth(one) > worth(other);
  return pricedAt(frame, one.expected) > pricedAt(frame, other.expected) + LEAST_GAIN;
}

/** Price of a violation if no level keeps the ceiling: enough to serve rather than drop. */
function worth({ expected }: RamsisLevel): number {
  return expected.accuracyPerQuery - expected.violationRate;
}

function violations({ expected }: RamsisLevel): number {
  const { violationRate, byClass = {} } = expected;
  return Math.max(violationRate, ...Object.values(byClass).map((one) => one.violationRate));
}
