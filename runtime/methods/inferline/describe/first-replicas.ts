/** Tasks that a server begins with, for `serve`. */
import type { InferlineBundle } from "../../../bundle/schema.ts";
import type { FirstStages } from "../../../describe/serving-summary.ts";

/** Returns those of the highest level. */
export function firstReplicas({ tasks, cluster, levels }: InferlineBundle): FirstStages {
  const stages = (levels.at(-1)?.plan.stages ?? []).map(({ pool, batch, replicas }, index) => {
    const { name = "", hardware = null } = cluster.pools[pool] ?? {};
    const task = tasks[index]?.name ?? "";
    return { task, hardware: hardware ?? name, batch, replicas };
  });
  const texts = stages.map(({ task, hardware, batch, replicas }) => {
    const times = replicas === 1 ? "1 replica" : `${replicas} replicas`;
    return `  ${task}: ${times} planned for ${hardware}, batches up to ${batch}`;
  });
  return { stages, texts };
}
