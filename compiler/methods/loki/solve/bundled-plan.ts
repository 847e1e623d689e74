/** Converts plans between the terms of a bundle and those of the solver. */
import type { PipelinePlan as BundledPlan } from "stratagem-runtime/internal/bundle/schema";
import type { PipelinePlan, PipelineProblem } from "../../../model/pipeline.ts";

/**
 * Converts a plan of the solver to that of a bundle.
 * @param demandQps that it carries.
 */
export function bundledPlan(
  problem: PipelineProblem,
  { instances, nodes, accuracy, servers }: PipelinePlan,
  { step, demandQps }: Pick<BundledPlan, "step" | "demandQps">,
): BundledPlan {
  return {
    step,
    demandQps,
    servers,
    accuracy,
    instances: instances.map(({ task, variant, configuration, replicas }) => {
      const chosen = problem.tasks[task]?.variants[variant]?.configurations[configuration];
      if (chosen === undefined) throw new RangeError("configuration index out of range");
      return { task, variant, ...chosen, replicas };
    }),
    nodes,
  };
}

/** Converts a plan of a bundle to that of the solver. */
export function solverPlan(problem: PipelineProblem, plan: BundledPlan): PipelinePlan {
  const { servers, accuracy, nodes } = plan;
  const instances = plan.instances.map(({ task, variant, pool, batch, replicas }) => {
    const configurations = problem.tasks[task]?.variants[variant]?.configurations ?? [];
    const configuration = configurations.findIndex(
      (candidate) => candidate.pool === pool && candidate.batch === batch,
    );
    return { task, variant, configuration, replicas };
  });
  return { instances, nodes, accuracy, servers };
}
