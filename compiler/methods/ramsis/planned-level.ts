/** The level of one load, independent of other loads. */
import type { Expected, RamsisLevel } from "stratagem-runtime/internal/bundle/schema";
import type { RamsisFrame } from "../../model/frames.ts";
import type { SolvedLevel } from "../method.ts";
import { boundLevel } from "./bound-level.ts";
import { bucketedLevel, classedLevel } from "./divided-level.ts";
import { type LevelPlan, levelPlans, onSharedAxes, planningFrame } from "./planning-frame.ts";
import {
  judged,
  latencyCost,
  servedLook,
  VIOLATION_PENALTY,
  worstViolationRate,
} from "./promise.ts";
import { simpleLevels } from "./simple-levels.ts";
import { type LevelProblem, levelProblem } from "./solve/level-problem.ts";
import { type LevelTables, ramsis } from "./solve/ramsis.ts";

/** Accuracy per query by which a simple rule must be better than the solved table. */
const LEAST_GAIN = 1e-4;
/** Violation rate of an overload, for which only rules are tried in addition. */
const HOPELESS = 0.1;
/**
 * Number of rules that are judged by a whole promise, of the best and of those with the least
 * violations.
 */
const FINALISTS = 3;

/**
 * Solves with the smallest margin for the serving path whose simulated promise keeps the ceiling,
 * or uses a simple rule that does better under the same simulation; otherwise the result that comes
 * closest to the ceiling.
 */
export function plannedLevel(frame: RamsisFrame, loadQps: number): RamsisLevel {
  const problem = levelProblem(frame);
  const tried: LevelPlan[] = [];
  let best: RamsisLevel | null = null;
  for (const plan of levelPlans(frame, loadQps)) {
    const level = bestSolved(problem, loadQps, plan);
    const isSafer = best === null || violations(level) < violations(best);
    tried.push(plan);
    if (isSafer) best = level;
    // If a larger margin does not help, the load exceeds the workers' capacity.
    if (level.feasible || !isSafer || violations(level) > HOPELESS) break;
  }
  if (best === null) throw new RangeError("no plan was tried");
  return problem.hasPath ? bestOf(problem, best, simpleLevels(problem, best, tried)) : best;
}

/** The tables for a load, with or without their promises. */
export function solvedLevel(problem: LevelProblem, loadQps: number): RamsisLevel | LevelTables {
  const { frame, isDivided, isPadded, isPooled } = problem;
  if (isPadded) return bucketedLevel(problem, loadQps);
  if (isDivided) return classedLevel(problem, loadQps);
  return isPooled ? ramsis.solvePooledTables(frame, loadQps) : boundLevel(frame, loadQps);
}

/** The level of a load with the best table, of levels around it, that keeps the ceiling. */
export function movedLevel(
  frame: RamsisFrame,
  loadQps: number,
  around: readonly RamsisLevel[],
): RamsisLevel {
  const problem = levelProblem(frame);
  const looked = around.map((level) => {
    return { level, worth: pricedAt(frame, ramsis.glimpse(frame, { ...level, loadQps })) };
  });
  let best: RamsisLevel | null = null;
  for (const { level } of looked.sort((a, b) => b.worth - a.worth)) {
    const moved = judged(problem, { ...level, loadQps });
    if (best === null || isBetter(frame, moved, best)) best = moved;
    // A short sample without the serving path says nothing about it.
    if (best.feasible && !problem.hasPath) break;
  }
  if (best === null) throw new RangeError("no level to move from");
  return best;
}

/**
 * Accuracy does not fall as load falls: a level may always use the table of the level above it.
 * @param solved by ascending load.
 * @returns the levels; those that are worse than the table of a higher level get the best such
 * table.
 */
export function inheritLevels(
  frame: RamsisFrame,
  solved: readonly SolvedLevel<RamsisLevel>[],
): SolvedLevel<RamsisLevel>[] {
  const problem = levelProblem(frame);
  return solved.map((own, index) => {
    let { level } = own;
    for (const above of solved.slice(index + 1)) {
      level = inherited(problem, level, above.level) ?? level;
    }
    return level === own.level ? own : { ...own, level };
  });
}

function inherited(
  problem: LevelProblem,
  own: RamsisLevel,
  above: RamsisLevel,
): RamsisLevel | null {
  if (own.feasible && own.expected.accuracyPerQuery >= above.expected.accuracyPerQuery) return null;
  if (!own.feasible && !above.feasible) return null;
  const level = judged(problem, { ...above, loadQps: own.loadQps });
  if (level.feasible !== own.feasible) return level.feasible ? level : null;
  const { frame } = problem;
  return pricedAt(frame, level.expected) > pricedAt(frame, own.expected) ? level : null;
}

/**
 * Solves with the times that promises are made with; with a serving path, which may include part of
 * each batch's percentile, also with that percentile.
 */
function bestSolved(problem: LevelProblem, loadQps: number, plan: LevelPlan): RamsisLevel {
  const { frame, hasPath } = problem;
  const own = solvedWith(problem, loadQps, plan);
  const { policy } = frame;
  if (!hasPath || policy.serviceTimes === "p95" || violations(own) > HOPELESS) return own;
  const careful: RamsisFrame = { ...frame, policy: { ...policy, serviceTimes: "p95" } };
  const other = solvedWith(levelProblem(careful), loadQps, plan);
  return isBetter(frame, other, own) ? other : own;
}

function solvedWith(problem: LevelProblem, loadQps: number, plan: LevelPlan): RamsisLevel {
  const { frame, hasPath } = problem;
  const planned = planningFrame(frame, loadQps, plan);
  const solved = solvedLevel(levelProblem(planned), loadQps);
  const level = onSharedAxes(frame, planned, solved, plan);
  // On the axes that it was solved on, its promise is the one found then.
  const isJudged = !hasPath && level.actionByState === solved.actionByState;
  return isJudged && "expected" in level ? level : judged(problem, level);
}

/** The solved level, or the best of the others if that one is better. */
function bestOf(
  problem: LevelProblem,
  solved: RamsisLevel,
  others: readonly RamsisLevel[],
): RamsisLevel {
  const { frame, ceiling } = problem;
  const look = (level: RamsisLevel) => {
    const { accuracy, violationRate } = servedLook(problem, level);
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
    const promised = judged(problem, level);
    if (isBetter(frame, promised, best)) best = promised;
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
  return worstViolationRate(expected);
}
