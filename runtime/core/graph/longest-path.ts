/** The longest way through a graph of tasks. */
import type { InferlineBundle, StageTask } from "../../bundle/schema.ts";

/**
 * Returns the time of the longest way through the pipeline, hops included, without waiting.
 * @param latencyMs by task.
 */
export function longestPathMs(
  {
    tasks,
    cluster,
  }: Pick<InferlineBundle, "cluster"> & { readonly tasks: readonly Pick<StageTask, "edges">[] },
  latencyMs: readonly number[],
): number {
  const endMs: number[] = [];
  for (const [task, { edges }] of tasks.entries()) {
    const readyMs = edges.map(({ parent }) => (parent === null ? 0 : (endMs[parent] ?? 0)));
    const hopMs = cluster.communicationLatencyMs;
    endMs.push(Math.max(...readyMs) + hopMs + (latencyMs[task] ?? 0));
  }
  return Math.max(...endMs);
}
