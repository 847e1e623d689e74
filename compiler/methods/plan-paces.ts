/** Promises on slower machines, for methods with the same plans at every pace. */
import type { Bundle, PacePromises } from "stratagem-runtime/internal/bundle/schema";
import type { BundleFrame } from "../model/frames.ts";
import { type ArrivalProcess, steadyArrivals } from "../simulate/arrivals.ts";
import { type LatencySummary, withEnoughBatches } from "../simulate/latency-sample.ts";
import { reportOutcomes } from "../simulate/outcomes.ts";
import type { CountedFrom, QueueOutcome } from "../simulate/queue-times.ts";
import type { ServiceTimeMode } from "../simulate/service-times.ts";
import { AS_PROFILED } from "../simulate/serving/machine-state.ts";
import type { StationOptions } from "../simulate/serving/stations.ts";
import type { MethodPaces } from "./method.ts";
import { SettledOutcomes, settledMs } from "./settled-outcomes.ts";

/** Requests per simulation of a promise at a pace. */
const REQUESTS = 10_000;
const SEED = 1;

/** Simulation of a load on a slower machine. */
interface PacedRun extends CountedFrom {
  readonly arrivals: ArrivalProcess;
  readonly durationMs: number;
  readonly seed: number;
  readonly stations: StationOptions;
  readonly serviceTimes: ServiceTimeMode;
}

interface PlanPaces<B extends Bundle> {
  /** Whether the bundle states the distribution of service times. */
  readonly hasQuantiles: (bundle: B) => boolean;
  /** Start-up time of a replica that a slower machine needs in addition. */
  readonly startMs: (bundle: B) => number;
  readonly simulate: (
    bundle: B,
    run: PacedRun,
  ) => QueueOutcome & {
    readonly accuracyPerSatisfied: number | null;
    readonly latencyMs: LatencySummary | null;
    /** In arrival order; NaN for dropped requests. */
    readonly latenciesMs: Float64Array | null;
  };
  readonly stating: (level: B["levels"][number], promises: PacePromises) => B["levels"][number];
}

export function planPaces<B extends Bundle, F extends BundleFrame>({
  hasQuantiles,
  startMs,
  simulate,
  stating,
}: PlanPaces<B>): MethodPaces<B, F> {
  return {
    levels: () => [],
    with: (bundle) => bundle,
    promised(bundle, index, pace, seed = SEED) {
      const { loadQps: qps = 0 } = bundle.levels[index] ?? {};
      const fromMs = settledMs(bundle.slo) + startMs(bundle);
      const runFor = (longer: number): PacedRun => ({
        arrivals: steadyArrivals(bundle.arrivals, qps),
        durationMs: fromMs + (1000 * longer * REQUESTS) / qps,
        seed,
        countedFromMs: fromMs,
        stations: { machine: { ...AS_PROFILED, pace } },
        serviceTimes:
          bundle.cluster.serving !== undefined && hasQuantiles(bundle) ? "sampled" : "p95",
      });
      const { run, latenciesMs, ...outcome } = withEnoughBatches((longer) => {
        const run = runFor(longer);
        return { run, ...simulate(bundle, run) };
      });
      const outcomes = new SettledOutcomes(bundle.slo.latencyMs, fromMs);
      reportOutcomes({ ...run, onOutcome: outcomes.count }, latenciesMs);
      return outcomes.figures(pace, outcome);
    },
    promising: stating,
  };
}
