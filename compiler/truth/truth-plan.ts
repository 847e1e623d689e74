/** Plans the loads, their durations and their order. */
import type { Level } from "stratagem-runtime/internal/bundle/schema";
import { beatMsOf } from "stratagem-runtime/internal/core/beat";

export interface PlannedPoint {
  readonly loadQps: number;
  /** Counted from 1. */
  readonly run: number;
  readonly seed: number;
}

/** Requests at full speed before the first point, and the time limit for them. */
export const WARM_UP_QUERIES = 20_000;
export const WARM_UP_MS = 20_000;
/** Beats until plans follow the lower load after it: Loki keeps a higher plan for ten. */
export const SETTLING_BEATS = 12;
const MOST_LEAD_IN_MS = 12_000;
/** Applications that settle later are not warmed up, which their slow models hide. */
const MOST_SETTLING_MS = 60_000;
/** Time for starting the server, settling at an SLO of 100 ms, and all other uncounted work. */
const AROUND_MS = 27_000;
/** Typical time of profiling; with slow models it takes longer, which `profile` announces. */
const PROFILE_MS = 100_000;

/**
 * Orders loads ascending with all runs of a load together, so that the server rarely changes plans.
 * @param loadsQps ascending. @param seed of the first point.
 */
export function planPoints(
  loadsQps: readonly number[],
  runs: number,
  seed: number,
): PlannedPoint[] {
  return loadsQps.flatMap((loadQps, index) =>
    // The following seed is that of the lead-in.
    Array.from({ length: runs }, (_, run) => {
      return { loadQps, run: run + 1, seed: (seed + 2 * (index * runs + run)) % 2 ** 32 };
    }),
  );
}

/** Selects `count` loads of the levels between the lowest and the highest feasible one. */
export function thinnedLoads(
  { levels }: { readonly levels: readonly Pick<Level, "loadQps" | "feasible">[] },
  count: number,
): number[] {
  const feasible = levels.filter((level) => level.feasible).map(({ loadQps }) => loadQps);
  const loads = feasible.length > 0 ? feasible : levels.map(({ loadQps }) => loadQps);
  if (count >= loads.length) return loads;
  if (count === 1) return loads.slice(-1);
  return Array.from({ length: count }, (_, index) => {
    return loads[Math.round((index * (loads.length - 1)) / (count - 1))] ?? 0;
  });
}

/** Uncounted arrivals at the load of a point right before it, ms. */
export function leadInMs(slo: Parameters<typeof beatMsOf>[0]): number {
  return Math.min(MOST_LEAD_IN_MS, SETTLING_BEATS * beatMsOf(slo));
}

/** Arrivals at the first load after the warm-up, ms; null for no warm-up. */
export function settlingMs(slo: Parameters<typeof beatMsOf>[0]): number | null {
  const ms = SETTLING_BEATS * beatMsOf(slo);
  return ms > MOST_SETTLING_MS ? null : ms;
}

/** Estimates the total time. */
export function expectedMs(pointCount: number, durationMs: number, hasProfile: boolean): number {
  const points = pointCount * (durationMs + MOST_LEAD_IN_MS + 1000);
  return (hasProfile ? 0 : PROFILE_MS) + AROUND_MS + WARM_UP_MS + points;
}
