/** What the places of malleable pipelines take that are not there. */
import type { AccordionBundle } from "../../../bundle/schema.ts";
import type { OnlookerTimes } from "../../../server/shadow-policy/onlooker-times.ts";
import { classOfPlaces, PipelineTable } from "../core/pipeline-table.ts";

/** Instances are done when the scheduler foretells it. */
export function accordionOnlookerTimes(bundle: AccordionBundle): OnlookerTimes {
  const table = new PipelineTable(bundle);
  return {
    batchMs: () => Number.NaN,
    loadMs: 0,
    resizeMs: 0,
    places: {
      count: classOfPlaces(bundle).length,
      instanceMs: (model, shape, instance) => table.latencyMs(model, shape, instance),
      reconfigurationMs: bundle.policy.reconfigurationMs,
    },
  };
}
