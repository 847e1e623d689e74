/** What `compile` warns of in a bundle of malleable pipelines: models that are not cut or are too slow, and loads that miss. */
import { type AccordionBundle, violationCeiling } from "../../../runtime/bundle/schema.ts";
import { percent, short } from "../../../runtime/tell/text.ts";
import type { Application, Variant } from "../../spec/application.ts";
import { isCut } from "./stage-models.ts";

export function accordionWarnings(bundle: AccordionBundle, application: Application): string[] {
  return [
    ...uncutModels(application).map(
      ({ name }) =>
        `model ${name} can be simulated and not served: its profile has speed-ups instead of layers, so its file is not cut; profile --layers measures layers`,
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
    const times = pipelines.map((_, shape) => latencyMs.data[shape * policy.maxBatch + batch - 1]);
    const leastMs = Math.min(...times.map((ms) => ms ?? Number.POSITIVE_INFINITY));
    if (leastMs <= slo.latencyMs) return [];
    const places = pipelines[times.indexOf(leastMs)]?.pools.length ?? 0;
    const on = places === 1 ? "1 place" : `${places} places`;
    return `model ${name}: a query of the mean batch, ${batch} instances, takes at least ${rounded(leastMs)} ms, on ${on}; the SLO is ${short(slo.latencyMs)} ms`;
  });
}

function levelWarnings({ levels, slo }: AccordionBundle): string[] {
  const ceiling = violationCeiling(slo);
  return levels.flatMap(({ loadQps, feasible, capacityQps, expected }) => {
    if (feasible) return [];
    const missed = `${percent(expected.violationRate)} of the queries miss the SLO when it is simulated, allowed ${percent(ceiling)}`;
    const why = loadQps > capacityQps ? `above the capacity of ${short(capacityQps)} qps, ` : "";
    return `level ${loadQps} qps is not feasible: ${why}${missed}`;
  });
}

function modelsOf({ tasks }: AccordionBundle) {
  return tasks.flatMap(({ variants }) => variants);
}

function rounded(ms: number): string {
  return String(Number(ms.toPrecision(4)));
}
