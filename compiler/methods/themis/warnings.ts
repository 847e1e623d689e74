/**
 * What `compile` warns of in a bundle of scaled tasks: loads without a plan, and plans that miss.
 */
import { type ThemisBundle, violationCeiling } from "../../../runtime/bundle/schema.ts";
import { percent } from "../../../runtime/tell/text.ts";

export function scalingWarnings({ levels, slo, policy }: ThemisBundle): string[] {
  const ceiling = violationCeiling(slo);
  const advice =
    policy.queueing === "paper" ? "; policy.queueing: stochastic counts with them" : "";
  return levels.flatMap(({ loadQps, feasible, capacityQps, steady }) => {
    if (!feasible) {
      return (
        `level ${loadQps} qps is not feasible: the pool has a plan up to about ` +
        `${Number(capacityQps.toPrecision(3))} qps, and it has that one`
      );
    }
    const { violationRate } = steady.expected;
    if (violationRate <= ceiling) return [];
    return (
      `level ${loadQps} qps: ${percent(violationRate)} of random requests miss the SLO, ` +
      `allowed ${percent(ceiling)}${advice}`
    );
  });
}
