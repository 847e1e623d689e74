/** Extent of the measurement of the serving path. */
import type { PathEffort } from "./measured-path.ts";
import type { WorkerEffort } from "./measured-workers.ts";

export interface ServingEffort {
  readonly path: PathEffort;
  readonly workers: Omit<WorkerEffort, "width" | "woken">;
  /** Most workers measured concurrently, regardless of the application's workers. */
  readonly mostWorkers: number;
  /** Mean time between single requests. */
  readonly gapMs: number;
}

/** Takes about half a minute. Most of it is the warm-up, since code is slow until compiled. */
export const SERVING_EFFORT: ServingEffort = {
  path: {
    warmUp: { leastMs: 3000, fewest: 6000, mostMs: 8000 },
    widths: [2, 8, 32, 128],
    width: { leastMs: 700, fewest: 64, mostMs: 2000 },
    many: { leastMs: 2000, fewest: 32, mostMs: 2000, wanted: 4, most: 8, withinMs: 14_000 },
    large: { rows: 8, leastMs: 1000, fewest: 8, mostMs: 2000, wanted: 3, most: 6, withinMs: 5000 },
    single: { leastMs: 700, fewest: 8, mostMs: 2500, wanted: 8, most: 16, withinMs: 12_000 },
  },
  workers: { rounds: 8, spellMs: 100, wakes: 160, withinMs: 12_000 },
  mostWorkers: 8,
  gapMs: 5,
};
