/** Measures how many queries reach each task per request (InferLine §4.1). */
import { visitPlanOf } from "../../../graph/visit-plan.ts";
import type { RequestTrace } from "../../../simulate/graph/visits.ts";
import type { ProvisioningProblem } from "./problem.ts";

/**
 * Mean queries that reach each task per request, over all traces. Source: InferLine §4.1, the
 * frequency of queries that visit each model.
 */
export function scaleFactorsOf(
  { graph, stages }: ProvisioningProblem,
  traces: readonly RequestTrace[],
): number[] {
  const requests = traces.reduce((sum, { arrivalMs }) => sum + arrivalMs.length, 0);
  const visits = traces.map((trace) => visitPlanOf(graph, trace).stages);
  return stages.map((_, stage) => {
    const count = visits.reduce((sum, one) => sum + (one[stage]?.count ?? 0), 0);
    return count / requests;
  });
}
