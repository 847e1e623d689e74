/** Days minute by minute: held and planned cores of each scaler, and missed requests. */
import type { ThemisSimulationResult } from "../simulate/simulate.ts";

/** A trace under every scaler. */
export interface ScaledDay {
  readonly name: string;
  /** Sentences about its trace, without a full stop. */
  readonly notes: readonly string[];
  /** The bundle's own first. */
  readonly runs: readonly ScaledRun[];
}

export interface ScaledRun {
  readonly scaler: string;
  /** Cores of the plan of each level. */
  readonly plannedCores: readonly number[];
  /** Includes a timeline. */
  readonly result: ThemisSimulationResult;
}

/** Totals of one minute; the last may be shorter. */
export interface DayMinute {
  /** From 0. */
  readonly minute: number;
  /** Requests that arrived per second, and the share of them that were late or dropped. */
  readonly qps: number;
  readonly violations: number;
  readonly missedShare: number;
  /** Means over the minute of the cores held, and of those that its levels plan. */
  readonly cores: number;
  readonly plannedCores: number;
}

const SECONDS = 60;

/** Empty without a timeline. */
export function minutesOf({ result, plannedCores }: ScaledRun): DayMinute[] {
  const seconds = result.timeline ?? [];
  const count = Math.ceil(seconds.length / SECONDS);
  return Array.from({ length: count }, (_, minute) => {
    const within = seconds.slice(minute * SECONDS, (minute + 1) * SECONDS);
    const sum = (of: (second: (typeof within)[number]) => number) =>
      within.reduce((total, second) => total + of(second), 0);
    const requests = sum((second) => second.requests);
    const violations = sum((second) => second.violations);
    return {
      minute,
      qps: requests / within.length,
      violations,
      missedShare: requests === 0 ? 0 : violations / requests,
      cores: sum(({ cores }) => cores) / within.length,
      plannedCores: sum(({ level }) => plannedCores[level] ?? 0) / within.length,
    };
  });
}

/** The first minute with the largest share of missed requests; null without any. */
export function worstMinute(minutes: readonly DayMinute[]): DayMinute | null {
  return minutes.reduce<DayMinute | null>(
    (worst, one) => (one.missedShare > (worst?.missedShare ?? 0) ? one : worst),
    null,
  );
}
