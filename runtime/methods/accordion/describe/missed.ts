/**
 * Limits that a level of pipelines misses: the capacity of its places, or the ceiling on
 * violations.
 */
import {
  type AccordionBundle,
  type AccordionLevel,
  violationCeiling,
} from "../../../bundle/schema.ts";
import { type MissedLimit, missedByRates } from "../../../describe/missed-limits.ts";

export function accordionMissed(
  { slo }: Pick<AccordionBundle, "slo">,
  level: AccordionLevel,
): MissedLimit[] {
  const { violationRate } = level.expected;
  return missedByRates(level, [{ violationRate }], violationCeiling(slo));
}
