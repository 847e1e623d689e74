/**
 * What `compile` warns of in a bundle of plans: loads that the cluster cannot carry, or not in
 * time.
 */
import { type LokiBundle, violationCeiling } from "../../../runtime/bundle/schema.ts";
import { lokiMissed } from "../../../runtime/methods/loki/tell/missed.ts";
import { missedTexts } from "../../../runtime/tell/missed-limits.ts";
import { percent } from "../../../runtime/tell/text.ts";

export function planWarnings(bundle: LokiBundle): string[] {
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
