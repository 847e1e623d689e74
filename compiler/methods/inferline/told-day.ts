/** What a day of plans comes to, in words and figures for `compile`. */
import { percent, short } from "stratagem-runtime/internal/tell/text";
import type { DayOutcome } from "./simulate/over-day.ts";

/** A line for `compile`. */
export function dayText({ of, followed, peak, plannedCostPerHour }: DayOutcome): string {
  const worst = percent(followed.worstMinuteViolationRate);
  return (
    `over a day (${of}): ${short(followed.costPerHour)} an hour, ` +
    `${percent(followed.violationRate)} late, ${worst} in the worst minute; the plans for each ` +
    `minute's load ${short(plannedCostPerHour)}, that for the highest load all day ` +
    `${short(peak.costPerHour)}`
  );
}

/** The same for `compile --json`. */
export function dayFigures({ of, durationMs, followed, peak, plannedCostPerHour }: DayOutcome) {
  const { minutes, ...own } = followed;
  return {
    of,
    durationMs,
    ...own,
    minutes,
    plannedCostPerHour,
    peak: { costPerHour: peak.costPerHour, violationRate: peak.violationRate },
  };
}
