import type {
  Configuration,
  ProvisioningProblem,
} from "../../compiler/solvers/inferline/problem.ts";
import { provisioningProblem } from "../../compiler/solvers/inferline/provisioning-problem.ts";
import type { InferlineBundle } from "../../runtime/bundle/schema.ts";

/** The decision problem of a bundle, and the configuration of its first level. */
export function problemAndPlan(bundle: InferlineBundle): {
  readonly problem: ProvisioningProblem;
  readonly configuration: Configuration;
} {
  const { levels, provenance: _, ...frame } = bundle;
  const problem = provisioningProblem({ ...frame, recorded: null });
  const configuration = (levels[0]?.plan.stages ?? []).map(
    ({ variant, pool, batch, replicas }, stage) => ({
      hardware:
        problem.stages[stage]?.hardware.findIndex(
          (one) => one.variant === variant && one.pool === pool,
        ) ?? -1,
      batch,
      replicas,
    }),
  );
  return { problem, configuration };
}
