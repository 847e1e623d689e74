/**
 * Which limits a level of tables misses: its capacity, the ceiling, which holds for each class, or
 * targets of the latency.
 */
import { type RamsisBundle, type RamsisLevel, violationCeiling } from "../../../bundle/schema.ts";
import { type MissedLimit, missedByRates, missedLatencies } from "../../../tell/missed-limits.ts";

export function ramsisMissed(
  { slo }: Pick<RamsisBundle, "slo">,
  { loadQps, capacityQps, expected }: Pick<RamsisLevel, "loadQps" | "capacityQps" | "expected">,
): MissedLimit[] {
  const byClass = Object.entries(expected.byClass ?? {}).map(([sloClass, { violationRate }]) => {
    return { sloClass, violationRate };
  });
  const all = [{ violationRate: expected.violationRate }];
  const rates = byClass.length === 0 ? all : byClass;
  return [
    ...missedByRates({ loadQps, capacityQps }, rates, violationCeiling(slo)),
    ...missedLatencies(slo, expected.latencyMs),
  ];
}
