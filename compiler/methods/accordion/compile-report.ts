/**
 * What `compile` tells of a bundle of pipelines: how models are cut, what they take, and what is
 * not as it was asked for.
 */

import { type AccordionBundle, violationCeiling } from "../../../runtime/bundle/schema.ts";
import { depthViews } from "../../../runtime/methods/accordion/tell/layer-plan-view.ts";
import { alignColumns, percent, short } from "../../../runtime/tell/text.ts";
import { itemsOf, viewOf } from "../../model/table-view.ts";
import type { Application, Variant } from "../../spec/application.ts";
import { isCut } from "./stage-models.ts";

/** Rows that are told; with several pools there can be a thousand shapes. */
const MAX_ROWS = 64;

/** One row per model and shape. */
export function pipelineTable(bundle: AccordionBundle): string {
  const hasPools = bundle.cluster.pools.length > 1;
  const rows = modelsOf(bundle).flatMap((variant) =>
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

export function accordionWarnings(bundle: AccordionBundle, application: Application): string[] {
  return [
    ...uncutModels(application).map(
      ({ name }) =>
        `model ${name} can be simulated and not served: its profile has speed-ups instead of ` +
        "layers, so its file is not cut; profile --layers measures layers",
    ),
    ...slowModels(bundle),
    ...levelWarnings(bundle),
  ];
}

/** Those whose file is not cut, since nothing says how. */
function uncutModels(application: Application): Variant[] {
  const variants = application.tasks.flatMap((task) => task.variants);
  return variants.filter((variant) => variant.model !== null && !isCut(variant, application));
}

/** Models whose queries of the mean batch are late even alone on the best places. */
function slowModels(bundle: AccordionBundle): string[] {
  const { slo, policy } = bundle;
  const batch = Math.round(policy.meanBatch);
  return modelsOf(bundle).flatMap(({ name, pipelines, latencyMs }) => {
    const times = itemsOf(viewOf(latencyMs).pick(null, batch - 1));
    const leastMs = Math.min(...times);
    if (leastMs <= slo.latencyMs) return [];
    const places = pipelines[times.indexOf(leastMs)]?.pools.length ?? 0;
    const on = places === 1 ? "1 place" : `${places} places`;
    return (
      `model ${name}: a query of the mean batch, ${batch} instances, ` +
      `takes at least ${rounded(leastMs)} ms, on ${on}; the SLO is ${short(slo.latencyMs)} ms`
    );
  });
}

function levelWarnings({ levels, slo }: AccordionBundle): string[] {
  const ceiling = violationCeiling(slo);
  return levels.flatMap(({ loadQps, feasible, capacityQps, expected }) => {
    if (feasible) return [];
    const missed =
      `${percent(expected.violationRate)} of the queries miss the SLO when it is simulated, ` +
      `allowed ${percent(ceiling)}`;
    const why = loadQps > capacityQps ? `above the capacity of ${short(capacityQps)} qps, ` : "";
    return `level ${loadQps} qps is not feasible: ${why}${missed}`;
  });
}

function modelsOf({ tasks }: AccordionBundle) {
  return tasks.flatMap(({ variants }) => variants);
}

function listed(values: readonly number[], text: (value: number) => string): string {
  return values.length === 0 ? "-" : values.map(text).join(" | ");
}

function rounded(ms: number): string {
  return String(Number(ms.toPrecision(4)));
}
