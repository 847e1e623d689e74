/** Letters of the variants that plans use. */
import type { LokiBundle } from "../../../bundle/schema.ts";
import { type Lettered, lettersByTask } from "../../../describe/letters.ts";

/** Returns the variants in the plan of any level: by task, and from the least accurate up. */
export function variantLetters({
  tasks,
  levels,
}: Pick<LokiBundle, "tasks" | "levels">): Lettered[] {
  const used = new Set<string>();
  for (const { plan } of levels) {
    for (const { task, variant } of plan.instances) used.add(`${task} ${variant}`);
  }
  return lettersByTask(
    tasks.map(({ name, variants }, task) => ({
      name,
      choices: variants
        .map((variant, index) => ({ index, name: variant.name, accuracy: variant.accuracy }))
        .filter(({ index }) => used.has(`${task} ${index}`))
        .sort((a, b) => a.accuracy - b.accuracy || a.index - b.index),
    })),
  );
}
