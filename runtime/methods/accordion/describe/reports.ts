/** Models and levels of malleable pipelines, as in `inspect --json`. */
import type { AccordionBundle } from "../../../bundle/schema.ts";
import { type Section, sectionOf } from "../../../describe/bundle-sections.ts";
import type { ServingSummary } from "../../../describe/serving-summary.ts";
import { classOfPlaces } from "../core/pipeline-table.ts";
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

/** The tables of a bundle of accordion, in its order. */
export function accordionSections({ tasks, shapes }: AccordionBundle): Section[] {
  const latencies = tasks.flatMap(({ variants }, index) =>
    variants.map(({ latencyMs }, variant) =>
      sectionOf(`tasks[${index}].variants[${variant}].latencyMs`, latencyMs),
    ),
  );
  return [...latencies, sectionOf("shapes", shapes)];
}

/** The execution places of a bundle, as `serve` reports them. */
export function servingPlaces(bundle: AccordionBundle): ServingSummary {
  const places = classOfPlaces(bundle).length;
  const models = bundle.tasks.flatMap(({ variants }) => variants.map(({ name }) => name));
  const workers = places === 1 ? "1 execution place" : `${places} execution places`;
  const of = models.length === 1 ? "model" : "models";
  return { workers, more: `; ${of} ${models.join(", ")}`, json: { models } };
}
