/** Which loads are sent, for how long and in what order. */
import type { Level } from "stratagem-runtime/internal/bundle/schema";

export interface PlannedPoint {
  readonly loadQps: number;
  /** From 1. */
  readonly run: number;
  readonly seed: number;
}

/** Arrivals at the load of a point, right before it, that are counted nowhere. */
export const LEAD_IN_MS = 3000;
/** Requests at full speed before the first point, and what they may take at most. */
export const WARM_UP_QUERIES = 4000;
export const WARM_UP_MS = 8000;
/** Until a server is up, and for all else that is not counted one by one. */
const AROUND_MS = 15_000;
/** A profile takes about so long, and more where models are slow: `profile` says then how long. */
const PROFILE_MS = 100_000;

/**
 * Loads ascend, and all runs of one follow each other, so that a server changes plans seldom.
 * @param loadsQps ascending. @param seed of the first point.
 */
export function planPoints(
  loadsQps: readonly number[],
  runs: number,
  seed: number,
): PlannedPoint[] {
  return loadsQps.flatMap((loadQps, index) =>
    // The next seed is that of the arrivals before those that count.
    Array.from({ length: runs }, (_, run) => {
      return { loadQps, run: run + 1, seed: (seed + 2 * (index * runs + run)) % 2 ** 32 };
    }),
  );
}

/** As many loads of the levels, from the lowest to the highest that can be served. */
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

/** About how long all of it takes. */
export function expectedMs(pointCount: number, durationMs: number, hasProfile: boolean): number {
  const points = pointCount * (durationMs + LEAD_IN_MS + 1000);
  return (hasProfile ? 0 : PROFILE_MS) + AROUND_MS + WARM_UP_MS + points;
}
