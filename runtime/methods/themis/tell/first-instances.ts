/** The tasks that a server begins with, as `serve` tells them. */
import type { ThemisBundle } from "../../../bundle/schema.ts";
import type { FirstStages } from "../../../tell/serving-told.ts";

/** Those of the highest level. */
export function firstInstances({ tasks, levels }: ThemisBundle): FirstStages {
  const stages = (levels.at(-1)?.steady.stages ?? []).map((stage, index) => {
    return { task: tasks[index]?.name ?? "", ...stage };
  });
  const texts = stages.map(({ task, batch, cores, instances }) => {
    const times = instances === 1 ? "1 instance" : `${instances} instances`;
    const size = cores === 1 ? "1 core" : `${cores} cores`;
    return `  ${task}: ${times} of ${size}, batches up to ${batch}`;
  });
  return { stages, texts };
}
