/** Limits that a level of plans misses: its capacity, or the ceiling in its simulation. */
import { type LokiBundle, type LokiLevel, violationCeiling } from "../../../bundle/schema.ts";
import { type MissedLimit, missedByRates } from "../../../describe/missed-limits.ts";

export function lokiMissed(
  { slo }: Pick<LokiBundle, "slo">,
  level: Pick<LokiLevel, "loadQps" | "capacityQps" | "expected">,
): MissedLimit[] {
  const { violationRate } = level.expected;
  return missedByRates(level, [{ violationRate }], violationCeiling(slo));
}
