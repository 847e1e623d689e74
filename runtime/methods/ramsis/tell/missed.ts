/** Whether a level of tables misses the ceiling, which holds for each class. */
import { type RamsisBundle, type RamsisLevel, violationCeiling } from "../../../bundle/schema.ts";
import { type MissedLimit, missedByRates } from "../../../tell/missed-limits.ts";

export function ramsisMissed(
  { slo }: Pick<RamsisBundle, "slo">,
  { expected }: Pick<RamsisLevel, "expected">,
): MissedLimit[] {
  const byClass = Object.entries(expected.byClass ?? {}).map(([sloClass, { violationRate }]) => {
    return { sloClass, violationRate };
  });
  const all = [{ violationRate: expected.violationRate }];
  const rates = byClass.length === 0 ? all : byClass;
  return missedByRates(null, rates, violationCeiling(slo));
}
