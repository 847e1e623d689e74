/** Finds, among equally good plans, the one with the fewest model loads. */
import type { PipelinePlan, PipelineProblem } from "../../../../model/pipeline.ts";
import { checkPlan } from "./check-plan.ts";
import { type PlanOptions, searchLimits } from "./plan-options.ts";
import { slotModel } from "./slots.ts";
import { fewestLoads, isMostAccurate, planOfStep } from "./step.ts";

const NODE_LIMIT = 1000;

/**
 * Servers that must load a variant to get from one plan to another, when all that can keep theirs
 * do. A new batch size is no load.
 */
export function modelLoads(problem: PipelineProblem, from: PipelinePlan, to: PipelinePlan): number {
  const held = replicasByVariant(problem, from);
  let loads = 0;
  for (const [key, replicas] of replicasByVariant(problem, to)) {
    loads += Math.max(0, replicas - (held.get(key) ?? 0));
  }
  return loads;
}

/**
 * A plan as accurate as the given one (to 1e-9) and with no more servers, that needs the fewest
 * loads from a neighbour: the given plan itself if the search finds none better within its limits.
 */
export function nearestPlan(
  problem: PipelineProblem,
  demandQps: number,
  plan: PipelinePlan,
  neighbour: PipelinePlan,
  options: Omit<PlanOptions, "solver">,
): PipelinePlan {
  const loads = modelLoads(problem, neighbour, plan);
  if (loads === 0) return plan;
  const isAccurate = isMostAccurate(problem);
  const isHardware = plan.instances.every(({ task, variant }) => isAccurate(task, variant));
  const model = slotModel(problem, isHardware ? isAccurate : undefined);
  const heldByVariant = replicasByVariant(problem, neighbour);
  const held = new Map(
    model.slots.map(({ task, variant, pool, group }) => [
      group,
      heldByVariant.get(`${task} ${variant} ${pool}`) ?? 0,
    ]),
  );
  const limits = searchLimits(options, NODE_LIMIT);
  const found = planOfStep(fewestLoads(model, demandQps, limits, plan, held, -loads));
  if (found === null) return plan;
  const mistakes = checkPlan(problem, demandQps, found);
  if (mistakes.length > 0) throw new Error(`assertion failed: ${mistakes.join("; ")}`);
  return modelLoads(problem, neighbour, found) < loads ? found : plan;
}

function replicasByVariant({ tasks }: PipelineProblem, plan: PipelinePlan): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { task, variant, configuration, replicas } of plan.instances) {
    const pool = tasks[task]?.variants[variant]?.configurations[configuration]?.pool ?? 0;
    const key = `${task} ${variant} ${pool}`;
    counts.set(key, (counts.get(key) ?? 0) + replicas);
  }
  return counts;
}
