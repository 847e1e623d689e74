/**
 * What `compile` warns of in a bundle of scaled tasks: loads without a plan, and plans that miss.
 */
import { type ThemisBundle, violationCeiling } from "stratagem-runtime/internal/bundle/schema";
import { themisMissed } from "stratagem-runtime/internal/methods/themis/tell/missed";
import { missedTexts } from "stratagem-runtime/internal/tell/missed-limits";
import { percent } from "stratagem-runtime/internal/tell/text";
import { wayWarnings } from "../../model/way-warnings.ts";
import { scalingWarnings } from "../../simulate/graph/scaling-steps.ts";
import type { Application, ThemisPolicy } from "../../spec/application.ts";
import { simulateThemis } from "./simulate/simulate.ts";

/** @param application with its autoscaler, where the spec names one. */
export function themisWarnings(
  bundle: ThemisBundle,
  application: Application<ThemisPolicy>,
): string[] {
  const { scalerDelay } = application.policy;
  const steps = scalingWarnings(bundle, scalerDelay, (options) => simulateThemis(bundle, options));
  return [...levelWarnings(bundle), ...steps, ...wayWarnings(application, false)];
}

function levelWarnings(bundle: ThemisBundle): string[] {
  const { levels, slo, policy } = bundle;
  const ceiling = violationCeiling(slo);
  const advice =
    policy.queueing === "paper" ? "; policy.queueing: stochastic counts with them" : "";
  return levels.flatMap((level) => {
    const { loadQps, feasible, capacityQps, steady } = level;
    if (!feasible) {
      const missed = missedTexts(themisMissed(bundle, level));
      return (
        `level ${loadQps} qps is not feasible: ${missed}; the pool has a plan up to about ` +
        `${Number(capacityQps.toPrecision(3))} qps, and it has that one`
      );
    }
    const { violationRate } = steady.expected;
    if (violationRate <= ceiling) return [];
    return (
      `level ${loadQps} qps: ${percent(violationRate)} of random requests miss the SLO, allowed ` +
      `${percent(ceiling)}${advice}`
    );
  });
}
