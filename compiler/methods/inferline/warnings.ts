/**
 * What `compile` warns of in a bundle of provisioned tasks: loads without a plan, and plans that
 * miss.
 */
import { type InferlineBundle, violationCeiling } from "../../../runtime/bundle/schema.ts";
import { percent } from "../../../runtime/tell/text.ts";

/** Of held-out traces, for which a margin is worth a thought. */
const FEW_MET = 0.95;

export function inferlineWarnings({ levels, slo, policy }: InferlineBundle): string[] {
  const ceiling = violationCeiling(slo);
  const advice = policy.margin === "auto" ? "" : "; policy.margin: auto leaves room for them";
  return levels.flatMap(({ loadQps, feasible, capacityQps, expected }) => {
    if (!feasible) {
      return (
        `level ${loadQps} qps is not feasible: the pools have a plan up to about ` +
        `${Math.floor(capacityQps)} qps, and it has that one`
      );
    }
    const { traces, met } = expected.heldOut;
    if (met < FEW_MET * traces) {
      return (
        `level ${loadQps} qps: ${met} of ${traces} traces that were not planned with meet the ` +
        `SLO${advice}`
      );
    }
    if (expected.violationRate <= ceiling) return [];
    return (
      `level ${loadQps} qps: ${percent(expected.violationRate)} of the requests miss the SLO ` +
      `when it is simulated, allowed ${percent(ceiling)}`
    );
  });
}
