/** Plans by hardware scaling alone: InferLine as Loki §6.1 compares with it. */
import type { PipelinePlan, PipelineProblem } from "../../../../model/pipeline.ts";
import { hardwareCapacityOf } from "../plan/capacity.ts";
import { checkPlan } from "../plan/check-plan.ts";
import { type PlanOptions, searchLimits } from "../plan/plan-options.ts";
import { slotModel } from "../plan/slots.ts";
import { fewestServers, isMostAccurate, planOfStep } from "../plan/step.ts";

const NODE_LIMIT = 20_000;

/**
 * InferLine as Loki §6.1 compares with it: only the most accurate variants, on as few servers as
 * serve the demand; only hardware scales.
 *
 * Our reading: it plans batch sizes and replicas for the pipeline's latency as a whole, as step 1
 * of Loki does. Above its capacity, it keeps the plan of its capacity, and excess requests are late
 * or dropped.
 *
 * @returns null if no latency limit can be met with the most accurate variants.
 */
export function hardwarePlan(
  problem: PipelineProblem,
  demandQps: number,
  options: Omit<PlanOptions, "solver">,
): PipelinePlan | null {
  const model = slotModel(problem, isMostAccurate(problem));
  const limits = searchLimits(options, NODE_LIMIT);
  const plan = planOfStep(fewestServers(model, demandQps, limits));
  if (plan === null) return hardwareCapacityOf(problem, options).plan;
  const mistakes = checkPlan(problem, demandQps, plan);
  if (mistakes.length > 0) throw new Error(`assertion failed: ${mistakes.join("; ")}`);
  return plan;
}
