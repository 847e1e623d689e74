/**
 * Short seeded simulations of every level, by the policy and by single variants, which the figures
 * compare with the stated expectation.
 */
import type { ArrivalModel, RamsisBundle } from "stratagem-runtime/internal/bundle/schema";
import type { ArrivalProcess } from "../../../simulate/arrivals.ts";
import { simulateBaseline } from "../simulate/baselines/simulate-baseline.ts";
import { isSampled } from "../simulate/promised-times.ts";
import { type SimulationOptions, type SimulationResult, simulate } from "../simulate/simulate.ts";

/** Queries of a run at any load, if time allows. */
const RUN_QUERIES = 30_000;
/** Queries of all runs together; with more, every run gets shorter. */
const MAX_QUERIES = 4_000_000;
/** Maximum loads at which single variants run, evenly spread. */
const MAX_BASELINE_LEVELS = 16;
const SEED = 1;

export interface SimulationPlan {
  /** Mean queries per run. */
  readonly queries: number;
  readonly seed: number;
  readonly runs: readonly PlannedRun[];
}

interface PlannedRun {
  readonly loadQps: number;
  /** The variant that serves every query; null for the policy. */
  readonly variant: string | null;
}

export interface SimulatedRun extends PlannedRun {
  readonly result: SimulationResult;
}

/** Plans the runs for the report of a bundle, and their length. */
export function planSimulations({ levels, tasks }: RamsisBundle): SimulationPlan {
  const loads = levels.map((level) => level.loadQps);
  const variants = tasks[0]?.variants.filter((variant) => !variant.dominated) ?? [];
  const runs: PlannedRun[] = loads.map((loadQps) => ({ loadQps, variant: null }));
  for (const loadQps of spread(loads, MAX_BASELINE_LEVELS)) {
    for (const { name } of variants) runs.push({ loadQps, variant: name });
  }
  const queries = Math.min(RUN_QUERIES, Math.floor(MAX_QUERIES / runs.length));
  return { queries, seed: SEED, runs };
}

/**
 * @param onRun called after each run; awaiting in it lets signals through, throwing in it ends the
 * work.
 */
export async function runSimulations(
  bundle: RamsisBundle,
  { runs, queries, seed }: SimulationPlan,
  onRun: () => Promise<void>,
): Promise<SimulatedRun[]> {
  const done: SimulatedRun[] = [];
  for (const run of runs) {
    const { loadQps, variant } = run;
    const options: SimulationOptions = {
      arrivals: arrivalsOf(bundle.arrivals, loadQps),
      durationMs: (1000 * queries) / loadQps,
      seed,
      serviceTimes: isSampled(bundle) ? "sampled" : "p95",
    };
    const result =
      variant === null
        ? simulate(bundle, options)
        : simulateBaseline(bundle, { kind: "fixed", variant }, options);
    done.push({ ...run, result });
    await onRun();
  }
  return done;
}

/** A trace has its own load and not those of the levels, so Poisson arrivals replace it. */
function arrivalsOf(model: ArrivalModel, qps: number): ArrivalProcess {
  return model.process === "gamma"
    ? { kind: "gamma", qps, cv2: model.cv2 }
    : { kind: "poisson", qps };
}

/** Up to `maxCount` of the items, including the first and the last. */
function spread<T>(items: readonly T[], maxCount: number): T[] {
  if (items.length <= maxCount) return [...items];
  const step = (items.length - 1) / (maxCount - 1);
  return Array.from({ length: maxCount }, (_, index) => items[Math.round(index * step)] as T);
}
