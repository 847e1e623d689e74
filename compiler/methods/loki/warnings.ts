/**
 * What `compile` warns of in a bundle of plans: loads that the cluster cannot carry, or not in
 * time.
 */
import { type LokiBundle, violationCeiling } from "stratagem-runtime/internal/bundle/schema";
import { percent } from "stratagem-runtime/internal/tell/text";

export function planWarnings({ levels, slo }: LokiBundle): string[] {
  const ceiling = violationCeiling(slo);
  return levels.flatMap(({ loadQps, feasible, capacityQps, expected }) => {
    if (!feasible) {
      return (
        `level ${loadQps} qps is not feasible: above the capacity of ` +
        `${Math.floor(capacityQps)} qps, whose plan it has; the excess is shed`
      );
    }
    if (expected.violationRate <= ceiling) return [];
    return (
      `level ${loadQps} qps: ${percent(expected.violationRate)} of the requests miss the SLO ` +
      `when it is simulated, allowed ${percent(ceiling)}; the plan has no room for queues`
    );
  });
}
