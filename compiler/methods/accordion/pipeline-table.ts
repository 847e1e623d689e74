/**
 * What `compile` shows of the pipelines of an Accordion bundle: how models are cut, and what they
 * take.
 */
import type { AccordionBundle } from "stratagem-runtime/internal/bundle/schema";
import { depthViews } from "stratagem-runtime/internal/methods/accordion/tell/plan-view";
import { alignColumns } from "stratagem-runtime/internal/tell/text";

/** Rows that are told; with several pools there can be a thousand shapes. */
const MAX_ROWS = 64;

/** One row per model and shape. */
export function pipelineTable(bundle: AccordionBundle): string {
  const hasPools = bundle.cluster.pools.length > 1;
  const rows = bundle.tasks
    .flatMap(({ variants }) => variants)
    .flatMap((variant) =>
      depthViews(bundle, variant).map((depth) => [
        variant.name,
        String(depth.executionPlaces),
        ...(hasPools ? [depth.pools.join(", ")] : []),
        listed(depth.cut, String),
        listed(depth.stageMs, rounded),
        rounded(depth.latencyMs),
        depth.speedup.toFixed(2),
      ]),
    );
  const head = ["model", "places", ...(hasPools ? ["pools"] : [])];
  const titles = [...head, "layers", "stage ms", "ms of 1 instance", "speed-up"];
  const more = rows.length - MAX_ROWS;
  return [
    alignColumns([titles, ...rows.slice(0, MAX_ROWS)]),
    ...(more > 0 ? [`and ${more} more rows, which inspect has`] : []),
  ].join("\n");
}

function listed(values: readonly number[], text: (value: number) => string): string {
  return values.length === 0 ? "-" : values.map(text).join(" | ");
}

function rounded(ms: number): string {
  return String(Number(ms.toPrecision(4)));
}
