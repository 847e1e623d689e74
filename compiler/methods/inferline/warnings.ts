/**
 * What `compile` warns of in a bundle of provisioned tasks: loads without a plan, and plans that
 * miss.
 */
import { type InferlineBundle, violationCeiling } from "stratagem-runtime/internal/bundle/schema";
import { inferlineMissed } from "stratagem-runtime/internal/methods/inferline/tell/missed";
import { missedTexts } from "stratagem-runtime/internal/tell/missed-limits";
import { percent } from "stratagem-runtime/internal/tell/text";
import { wayWarnings } from "../../model/way-warnings.ts";
import { scalingWarnings } from "../../simulate/graph/scaling-steps.ts";
import type { Application, InferlinePolicy } from "../../spec/application.ts";
import { simulateInferline } from "./simulate/simulate.ts";

/** Of held-out traces, for which a margin is worth a thought. */
const FEW_MET = 0.95;

/** @param application with its autoscaler, where the spec names one. */
export function inferlineWarnings(
  bundle: InferlineBundle,
  application: Application<InferlinePolicy>,
): string[] {
  const { scalerDelay } = application.policy;
  const steps = scalingWarnings(bundle, scalerDelay, (options) => {
    return simulateInferline(bundle, options);
  });
  return [...levelWarnings(bundle), ...steps, ...wayWarnings(application, false)];
}

function levelWarnings(bundle: InferlineBundle): string[] {
  const { levels, slo, policy } = bundle;
  const ceiling = violationCeiling(slo);
  const advice = policy.margin === "auto" ? "" : "; policy.margin: auto leaves room for them";
  return levels.flatMap((level) => {
    const { loadQps, feasible, capacityQps, expected } = level;
    if (!feasible) {
      const missed = missedTexts(inferlineMissed(bundle, level));
      return (
        `level ${loadQps} qps is not feasible: ${missed}; the pools have a plan up to about ` +
        `${Math.floor(capacityQps)} qps, and it has that one`
      );
    }
    const { traces, met } = expected.heldOut;
    if (met < FEW_MET * traces) {
      return (
        `level ${loadQps} qps: ${met} of ${traces} traces that were not planned with meet the SLO` +
        advice
      );
    }
    if (expected.violationRate <= ceiling) return [];
    return (
      `level ${loadQps} qps: ${percent(expected.violationRate)} of the requests miss the ` +
      "SLO when " +
      `it is simulated, allowed ${percent(ceiling)}`
    );
  });
}
