/** Execution places of a bundle, for `serve`. */
import type { AccordionBundle } from "../../../bundle/schema.ts";
import type { ServingSummary } from "../../../describe/serving-summary.ts";
import { classOfPlaces } from "../core/pipeline-table.ts";

export function servingPlaces(bundle: AccordionBundle): ServingSummary {
  const places = classOfPlaces(bundle).length;
  const models = bundle.tasks.flatMap(({ variants }) => variants.map(({ name }) => name));
  const workers = places === 1 ? "1 execution place" : `${places} execution places`;
  const of = models.length === 1 ? "model" : "models";
  return { workers, more: `; ${of} ${models.join(", ")}`, json: { models } };
}
