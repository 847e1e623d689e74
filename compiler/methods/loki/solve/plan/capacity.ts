/** Finds the largest demand that any plan serves. */
import type { PipelinePlan, PipelineProblem } from "../../../../model/pipeline.ts";
import { type PlanOptions, searchLimits } from "./plan-options.ts";
import { slotModel } from "./slots.ts";
import { highestDemand, isMostAccurate, planOfStep } from "./step.ts";

export interface Capacity {
  /**
   * Requests per second that the plan serves; 0 if no latency limit can be met; infinite if no
   * request makes a query.
   */
  readonly qps: number;
  /**
   * Proven upper bound on the demand of any plan; within 0.02 % of `qps` unless a limit was hit.
   */
  readonly boundQps: number;
  /** The plan that serves `qps`; null if `qps` is 0 or infinite. */
  readonly plan: PipelinePlan | null;
}

const NODE_LIMIT = 20_000;

/**
 * Largest demand that any plan serves. The demand is the objective of a separate program, so
 * nothing is bisected.
 */
export function capacityOf(
  problem: PipelineProblem,
  options: Omit<PlanOptions, "solver">,
): Capacity {
  return capacity(problem, options, () => true);
}

/** Largest demand that the most accurate variants alone serve. */
export function hardwareCapacityOf(
  problem: PipelineProblem,
  options: Omit<PlanOptions, "solver">,
): Capacity {
  return capacity(problem, options, isMostAccurate(problem));
}

function capacity(
  problem: PipelineProblem,
  options: Omit<PlanOptions, "solver">,
  isAllowed: (task: number, variant: number) => boolean,
): Capacity {
  if (problem.tasks.every(({ parent, entryShare }) => parent !== null || entryShare === 0)) {
    return { qps: Number.POSITIVE_INFINITY, boundQps: Number.POSITIVE_INFINITY, plan: null };
  }
  const model = slotModel(problem, isAllowed);
  const limits = searchLimits(options, NODE_LIMIT);
  const found = highestDemand(model, limits);
  const unit = found.pool.demandQps;
  const qps = unit * (found.point?.worth ?? 0);
  return { qps, boundQps: Math.max(qps, unit * found.bound), plan: planOfStep(found) };
}
