/**
 * Warnings of `compile` for malleable pipelines: models that are not cut or are too slow, and loads
 * that miss.
 */
import type { AccordionBundle } from "stratagem-runtime/internal/bundle/schema";
import { missedTexts } from "stratagem-runtime/internal/describe/missed-limits";
import { rounded, short } from "stratagem-runtime/internal/describe/text";
import { accordionMissed } from "stratagem-runtime/internal/methods/accordion/describe/missed";
import type { Application, Variant } from "../../spec/application.ts";
import { isCut } from "./stage-models.ts";

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

/** Models whose file is not cut, since they were not profiled by layer. */
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
    return (
      `model ${name}: a query of the mean batch, ${batch} instances, takes at least ` +
      `${rounded(leastMs)} ms, on ${on}; the SLO is ${short(slo.latencyMs)} ms`
    );
  });
}

function levelWarnings(bundle: AccordionBundle): string[] {
  return bundle.levels
    .filter(({ feasible }) => !feasible)
    .map((level) => {
      const missed = missedTexts(accordionMissed(bundle, level));
      return `level ${level.loadQps} qps is not feasible: ${missed}`;
    });
}

function modelsOf({ tasks }: AccordionBundle) {
  return tasks.flatMap(({ variants }) => variants);
}
