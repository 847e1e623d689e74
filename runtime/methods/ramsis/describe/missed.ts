/**
 * Limits that a level of tables misses: the ceiling, which applies to each class, or latency
 * limits.
 */
import { type Expected, type RamsisBundle, violationCeiling } from "../../../bundle/schema.ts";
import {
  type MissedLimit,
  missedByRates,
  missedLatencies,
} from "../../../describe/missed-limits.ts";

export function ramsisMissed(
  { slo }: Pick<RamsisBundle, "slo">,
  { expected }: { readonly expected: Pick<Expected, "violationRate" | "byClass" | "latencyMs"> },
): MissedLimit[] {
  const byClass = Object.entries(expected.byClass ?? {}).map(([sloClass, { violationRate }]) => {
    return { sloClass, violationRate };
  });
  const all = [{ violationRate: expected.violationRate }];
  const rates = byClass.length === 0 ? all : byClass;
  return [
    ...missedByRates(null, rates, violationCeiling(slo)),
    ...missedLatencies(slo, expected.latencyMs),
  ];
}
