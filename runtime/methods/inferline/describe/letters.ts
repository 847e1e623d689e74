/** Letters of the hardware that plans use, task by task. */
import type { InferlineBundle } from "../../../bundle/schema.ts";
import { type Lettered, lettersByTask } from "../../../describe/letters.ts";
import { hardwareOf } from "./plan-view.ts";

/**
 * Returns letters whose variant is the index of a pool, and whose name is the hardware. They are in
 * the order of the tasks, the cheapest hardware first.
 */
export function hardwareLetters({ tasks, cluster, levels }: InferlineBundle): Lettered[] {
  return lettersByTask(
    tasks.map(({ name }, task) => {
      const used = new Set(levels.map(({ plan }) => plan.stages[task]?.pool));
      const choices = cluster.pools
        .map((pool, index) => ({ index, name: hardwareOf(pool), price: pool.pricePerHour ?? 0 }))
        .filter(({ index }) => used.has(index))
        .sort((a, b) => a.price - b.price || a.index - b.index);
      return { name, choices };
    }),
  );
}
