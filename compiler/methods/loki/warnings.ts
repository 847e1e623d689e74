/**
 * What `compile` warns of in a bundle of plans: loads that the cluster cannot carry, or not in
 * time.
 */
import { type LokiBundle, violationCeiling } from "stratagem-runtime/internal/bundle/schema";
import { lokiMissed } from "stratagem-runtime/internal/methods/loki/tell/missed";
import { missedTexts } from "stratagem-runtime/internal/tell/missed-limits";
import { percent } from "stratagem-runtime/internal/tell/text";
import { wayWarnings } from "../../model/way-warnings.ts";
import type { Application } from "../../spec/application.ts";

/** @param application whose plans they are. */
export function planWarnings(
  bundle: LokiBundle,
  application: Pick<Application, "cluster" | "tasks">,
): string[] {
  return [...levelWarnings(bundle), ...wayWarnings(application, false)];
}

function levelWarnings(bundle: LokiBundle): string[] {
  const { levels, slo } = bundle;
  const ceiling = violationCeiling(slo);
  return levels.flatMap((level) => {
    const { loadQps, feasible, capacityQps, expected } = level;
    if (!feasible) {
      return (
        `level ${loadQps} qps is not feasible: ${missedTexts(lokiMissed(bundle, level))}; it has ` +
        `the plan for the capacity of ${Math.floor(capacityQps)} qps, and the excess is shed`
      );
    }
    if (expected.violationRate <= ceiling) return [];
    return (
      `level ${loadQps} qps: ${percent(expected.violationRate)} of the requests miss the ` +
      "SLO when " +
      `it is simulated, allowed ${percent(ceiling)}; the plan has no room for queues`
    );
  });
}
