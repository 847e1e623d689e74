/**
 * Plans of neighbouring levels brought together: a change of level costs as few model loads as the
 * optima allow.
 */
import type { LokiLevel } from "stratagem-runtime/internal/bundle/schema";
import type { LokiFrame } from "../../model/frames.ts";
import type { PipelineProblem } from "../../model/pipeline.ts";
import type { Settle, SolvedLevel } from "../method.ts";
import { solverPlan } from "./solve/bundled-plan.ts";
import { modelLoads } from "./solve/plan/nearest-plan.ts";
import { pipelineProblem } from "./solve/problem.ts";

/**
 * Settles each level, from the lowest up, against the one below; then every level says what
 * changing to it costs.
 */
export async function settleLevels(
  frame: LokiFrame,
  solved: readonly SolvedLevel<LokiLevel>[],
  settle: Settle<LokiLevel>,
): Promise<SolvedLevel<LokiLevel>[]> {
  const levels: LokiLevel[] = [];
  for (const { level: own } of solved) {
    const below = levels.at(-1);
    levels.push(below === undefined ? own : await settle(own, below));
  }
  const problem = pipelineProblem(frame);
  return levels.map((level, index) => ({
    ms: solved[index]?.ms ?? 0,
    level: {
      ...level,
      transition: {
        modelLoadsFromBelow: loadsFrom(problem, levels[index - 1], level),
        modelLoadsFromAbove: loadsFrom(problem, levels[index + 1], level),
      },
    },
  }));
}

function loadsFrom(
  problem: PipelineProblem,
  from: LokiLevel | undefined,
  to: LokiLevel,
): number | null {
  if (from === undefined) return null;
  return modelLoads(problem, solverPlan(problem, from.plan), solverPlan(problem, to.plan));
}
