/** Latency of the longest path without waiting (InferLine §4.3). */
import type { ProvisioningProblem } from "./problem.ts";

/**
 * Time of the longest path through the pipeline without waiting, ms.
 * @param stageMs of each task.
 * Source: InferLine §4.3, ServiceTime.
 */
export function serviceTimeMs(
  { graph, hopMs }: Pick<ProvisioningProblem, "graph" | "hopMs">,
  stageMs: readonly number[],
): number {
  const endMs: number[] = [];
  for (const [stage, ms] of stageMs.entries()) {
    let startMs = 0;
    for (let edge = graph.inStart[stage] ?? 0; edge < (graph.inStart[stage + 1] ?? 0); edge++) {
      const parent = graph.parentByEdge[edge] ?? -1;
      startMs = Math.max(startMs, parent < 0 ? 0 : (endMs[parent] ?? 0));
    }
    endMs.push(startMs + hopMs + ms);
  }
  return Math.max(...endMs);
}
