/** Models and levels of malleable pipelines, as in `inspect --json`. */
import type { AccordionBundle } from "../../../bundle/schema.ts";
import { accordionMissed } from "./missed.ts";
import { planView } from "./plan-view.ts";

export function accordionTasks({ tasks }: AccordionBundle) {
  return tasks.map(malleableReport);
}

/**
 * Reports latencies by shape and batch less one, null without a pipeline; the levels report the
 * pipelines.
 */
function malleableReport({ variants, ...task }: AccordionBundle["tasks"][number]) {
  return {
    ...task,
    variants: variants.map(({ latencyMs, pipelines, ...variant }) => {
      const [, maxBatch = 0] = latencyMs.shape;
      const msByShape = pipelines.map((pipeline, shape) =>
        pipeline === null
          ? null
          : Array.from(latencyMs.data.subarray(shape * maxBatch, (shape + 1) * maxBatch)),
      );
      return { ...variant, msByShape };
    }),
  };
}

/** Reports levels as `compile` does. @param solveMs wall time of each, if known. */
export function accordionLevels(bundle: AccordionBundle, solveMs: readonly number[]) {
  // The pipelines are the same at every load.
  const plan = planView(bundle);
  return bundle.levels.map((level, index) => {
    const { loadQps, feasible, capacityQps, expected } = level;
    const missed = accordionMissed(bundle, level);
    const solve = { ms: solveMs[index] ?? null, method: "partition" };
    return { loadQps, feasible, missed, capacityQps, plan, expected, solve };
  });
}
