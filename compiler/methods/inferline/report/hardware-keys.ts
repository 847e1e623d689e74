/** One colour and one letter for each stage on each hardware that a plan uses: a stage is a hue, and hardware goes from light to dark with its price. */
import type { InferlineBundle } from "../../../../runtime/bundle/schema.ts";
import { hardwareOf } from "../../../../runtime/methods/inferline/tell/plan-view.ts";
import { letterAt, type PipelineVariantKey } from "../../../report/kit/variant-keys.ts";

/** The variant of a key is the index of a pool, its name the hardware. In the order of the tasks, the cheapest hardware first. */
export function hardwareKeys({ tasks, cluster, levels }: InferlineBundle): PipelineVariantKey[] {
  const keys: PipelineVariantKey[] = [];
  for (const [task, { name: taskName }] of tasks.entries()) {
    const used = new Set(levels.map(({ plan }) => plan.stages[task]?.pool));
    const ranked = cluster.pools
      .map((pool, variant) => ({ variant, name: hardwareOf(pool), price: pool.pricePerHour ?? 0 }))
      .filter(({ variant }) => used.has(variant))
      .sort((a, b) => a.price - b.price || a.variant - b.variant);
    for (const [position, { variant, name }] of ranked.entries()) {
      const index = keys.length;
      const rank = ranked.length === 1 ? 0.5 : position / (ranked.length - 1);
      const color = `var(--variant-${index})`;
      keys.push({ task, variant, taskName, name, letter: letterAt(index), color, rank });
    }
  }
  return keys;
}

export function keyOf(
  keys: readonly PipelineVariantKey[],
  task: number,
  pool: number,
): PipelineVariantKey | undefined {
  return keys.find((key) => key.task === task && key.variant === pool);
}
