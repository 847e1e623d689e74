/** Plans in the terms of a bundle, and in those of the solver. */
import type { PipelinePlan as BundledPlan } from "stratagem-runtime/internal/bundle/schema";
import type { PipelinePlan, PipelineProblem } from "../../../model/pipeline.ts";

/** A plan of the solver in the terms of a bundle. @param demandQps what it carries. */
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
      if (chosen === undefined) throw new RangeError("an instance has a configuration");
      return { task, variant, ...chosen, replicas };
    }),
    nodes,
  };
}

/** A plan of a bundle in the terms of the solver. */
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
