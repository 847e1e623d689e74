/** Tasks that a server begins with, for `serve`. */
import type { ThemisBundle } from "../../../bundle/schema.ts";
import type { FirstStages } from "../../../describe/serving-summary.ts";
import { chosenOf } from "./plan-view.ts";

/** Returns those of the highest level. */
export function firstInstances({ tasks, levels, cluster }: ThemisBundle): FirstStages {
  const stages = (levels.at(-1)?.steady.stages ?? []).map(({ variant, ...stage }, index) => {
    const { name = "", variants = [] } = tasks[index] ?? {};
    return { task: name, ...chosenOf(variants, { variant }, cluster.pools), ...stage };
  });
  const texts = stages.map(({ task: name, variant, pool, batch, cores, instances }) => {
    const task = [name, variant ?? [], pool === undefined ? [] : `on ${pool}`].flat().join(" ");
    const times = instances === 1 ? "1 instance" : `${instances} instances`;
    const size = cores === 1 ? "1 core" : `${cores} cores`;
    return `  ${task}: ${times} of ${size}, batches up to ${batch}`;
  });
  return { stages, texts };
}
