/** The variants that plans use, each with the letter and the colour that it has in every figure. */
import type { LokiBundle } from "../../../../runtime/bundle/schema.ts";
import { letterAt, type PipelineVariantKey } from "../../../report/kit/variant-keys.ts";

/** Of the variants that the plan of some level uses: by task, and from the least accurate up. */
export function variantKeys({ tasks, levels }: LokiBundle): PipelineVariantKey[] {
  const used = new Set<string>();
  for (const { plan } of levels) {
    for (const { task, variant } of plan.instances) used.add(`${task} ${variant}`);
  }
  const keys: PipelineVariantKey[] = [];
  for (const [task, { name: taskName, variants }] of tasks.entries()) {
    const ranked = variants
      .map(({ name, accuracy }, variant) => ({ name, accuracy, variant }))
      .filter(({ variant }) => used.has(`${task} ${variant}`))
      .sort((a, b) => a.accuracy - b.accuracy || a.variant - b.variant);
    for (const [position, { name, variant }] of ranked.entries()) {
      const index = keys.length;
      const rank = ranked.length === 1 ? 0.5 : position / (ranked.length - 1);
      const color = `var(--variant-${index})`;
      keys.push({ task, variant, taskName, name, letter: letterAt(index), color, rank });
    }
  }
  return keys;
}
