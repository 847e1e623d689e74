/** Simulates the exact arrivals of a run, with and without the serving path. */

import { RuntimeError } from "stratagem-runtime/internal/base/errors";
import type { Bundle, ServingPath, Spread } from "stratagem-runtime/internal/bundle/schema";
import { levelForLoad } from "stratagem-runtime/internal/core/level-choice";
import { promisedNow } from "stratagem-runtime/internal/server/measures/promised-now";
import * as z from "zod";
import { methodOf } from "../methods/registry.ts";
import { ENOUGH_BATCHES } from "../numeric/quantile-interval.ts";
import type { SimulateWatch } from "../processes/simulate-watch.ts";
import { meanOf } from "../profile/serving/spread.ts";
import type { StallsSeen } from "../profile/serving/stall-watch.ts";
import type { ArrivalProcess } from "../simulate/arrivals.ts";
import type { ServiceTimeMode } from "../simulate/service-times.ts";
import { AS_PROFILED } from "../simulate/serving/machine-state.ts";
import type { StationOptions } from "../simulate/serving/stations.ts";
import { InputError } from "../spec/document/input-error.ts";
import { GatheredTimes, outcomeOf, type RequestTimes } from "./request-times.ts";
import type { Ablation, BriefOutcome, Outcome, TruthPoint } from "./truth-document.ts";

interface Run {
  readonly arrivals: ArrivalProcess;
  /** Earlier arrivals are those before the run; default: 0. */
  readonly countedFromMs?: number;
  readonly durationMs: number;
  readonly seed: number;
  /** Service times of all workers relative to the profile. */
  readonly pace: number;
  /** Processor use besides server and workers, if the bundle models it. */
  readonly stations: StationOptions;
}

export interface Prediction {
  readonly outcome: Outcome;
  readonly times: RequestTimes;
}

/** Results common to every method's simulation. */
const resultSchema = z.object({
  violationRate: z.number(),
  accuracyPerSatisfied: z.number().nullish(),
  latencyMs: z.object({ batches: z.number().optional() }).nullish(),
});

/** Returns sampled service times if the profile has quantiles, otherwise its percentile. */
export async function serviceTimesOf(bundle: Bundle, watch: SimulateWatch) {
  const arrivals = { kind: "poisson", qps: 1 } as const;
  const brief = { arrivals, durationMs: 1, seed: 1, pace: 1, stations: {} };
  try {
    await predict(bundle, brief, "sampled", watch);
    return "sampled";
  } catch (error) {
    if (error instanceof InputError || error instanceof RuntimeError) return "p95";
    throw error;
  }
}

/** Fewest draws of service times and path for the same arrivals: the p99 of one draw varies. */
const DRAWS = 5;
/** Most draws, where each has few batches. */
const MOST_DRAWS = 100;

/**
 * Averages simulations of a run's arrivals, enough for their percentiles to need no interval:
 * quantiles over all draws and mean rates. Times are those of the first draw. Draws in which no
 * request is in time have no accuracy.
 * @throws as `predict`.
 */
export async function expected(
  bundle: Bundle,
  run: Run,
  serviceTimes: ServiceTimeMode,
  watch: SimulateWatch,
): Promise<Prediction> {
  const first = await predict(bundle, run, serviceTimes, watch);
  if (bundle.cluster.serving === undefined && serviceTimes === "p95") {
    // Nothing is drawn but the arrivals, which are those of the run.
    const { intervalsMs: _, ...outcome } = first.outcome;
    return { ...first, outcome };
  }
  const all = [first];
  let { batches } = first.outcome;
  while (all.length < DRAWS || (all.length < MOST_DRAWS && batches < ENOUGH_BATCHES)) {
    const stations = { ...run.stations, draw: all.length };
    const drawn = await predict(bundle, { ...run, stations }, serviceTimes, watch);
    batches += drawn.outcome.batches;
    all.push(drawn);
  }
  const latencies = all.map(({ times }) => times.latencyMs);
  const latencyMs = Float64Array.from(latencies.flatMap((one) => [...one]));
  const pooled = outcomeOf(latencyMs, bundle.slo.latencyMs, null, batches);
  const violationRate = meanOf(all.map(({ outcome }) => outcome.violationRate));
  const accuracies = all.flatMap(({ outcome }) => outcome.accuracy ?? []);
  if (accuracies.length === 0) return { ...first, outcome: { ...pooled, violationRate } };
  const accuracyRange = [Math.min(...accuracies), Math.max(...accuracies)] as const;
  const accuracy = meanOf(accuracies);
  return { ...first, outcome: { ...pooled, violationRate, accuracy, accuracyRange } };
}

/** @throws InputError if sampling is requested and the bundle has no quantiles. */
async function predict(
  bundle: Bundle,
  { pace, stations, ...run }: Run,
  serviceTimes: ServiceTimeMode,
  watch: SimulateWatch,
): Promise<Prediction> {
  const machine = { ...AS_PROFILED, pace };
  const method = await methodOf(bundle);
  const gathered = new GatheredTimes(run.countedFromMs);
  const { json } = await method.simulate(
    withPathAt(bundle, pace),
    {
      ...run,
      stations: { ...stations, machine },
      serviceTimes,
      fanout: "rounded",
      baseline: null,
      onOutcome: gathered.add,
    },
    watch,
  );
  const { violationRate, accuracyPerSatisfied, latencyMs } = resultSchema.parse(json);
  const times = gathered.times();
  const { batches = times.latencyMs.length } = latencyMs ?? {};
  const accuracy = accuracyPerSatisfied ?? null;
  const outcome = outcomeOf(times.latencyMs, bundle.slo.latencyMs, accuracy, batches);
  return {
    outcome: { ...outcome, violationRate },
    times,
  };
}

/** A machine that is slow for models is slow for the server too. */
function withPathAt(bundle: Bundle, pace: number): Bundle {
  const { serving } = bundle.cluster;
  if (serving === undefined || pace === 1) return bundle;
  const slowed = ({ p50, p95, p99, mean }: Spread): Spread => ({
    p50: p50 * pace,
    p95: p95 * pace,
    p99: p99 * pace,
    mean: mean * pace,
  });
  const path = {
    ...serving,
    requestMs: slowed(serving.requestMs),
    batchMs: slowed(serving.batchMs),
    answerMs: slowed(serving.answerMs),
    wakeMs: slowed(serving.wakeMs),
    wireMs: slowed(serving.wireMs),
  };
  return { ...bundle, cluster: { ...bundle.cluster, serving: path } };
}

/** Simulated service times of batches over those that the server expects; null without batches. */
export async function stretchOf(
  bundle: Bundle,
  run: Run,
  serviceTimes: ServiceTimeMode,
  watch: SimulateWatch,
): Promise<number | null> {
  let seen = { ranMs: 0, expectedMs: 0 };
  const onPace = (pace: typeof seen): void => {
    seen = pace;
  };
  await predict(bundle, { ...run, stations: { ...run.stations, onPace } }, serviceTimes, watch);
  return seen.expectedMs > 0 ? seen.ranMs / seen.expectedMs : null;
}

/** Returns the promise of a level at a pace; between two stated paces, that of the slower. */
export function promisedAt(bundle: Bundle, loadQps: number, pace: number): TruthPoint["promised"] {
  const level = levelForLoad(bundle.levels, loadQps);
  const stated = promisedNow(bundle, { level, loadQps, pace });
  return {
    violationRate: stated?.violationRate ?? null,
    accuracy: stated?.accuracyPerSatisfied ?? null,
  };
}

/**
 * Predicts without components, and with the stalls of the run; null if the bundle has no such
 * component.
 * @param stalls of the run; null without stalls.
 */
export async function ablationOf(
  bundle: Bundle,
  run: Run,
  stalls: StallsSeen | null,
  serviceTimes: ServiceTimeMode,
  watch: SimulateWatch,
): Promise<Ablation> {
  const { serving } = bundle.cluster;
  if (serving === undefined) {
    return { withoutPath: null, withoutContention: null, withoutBoth: null, asItWas: null };
  }
  const without = async (stations: StationOptions, of = bundle): Promise<BriefOutcome> => {
    const { outcome } = await expected(of, { ...run, stations }, serviceTimes, watch);
    const { p50Ms, p99Ms, violationRate } = outcome;
    return { p50Ms, p99Ms, violationRate };
  };
  return {
    withoutPath: await without({ ...run.stations, path: false }),
    withoutContention: await without({ contention: false }),
    withoutBoth: await without({ path: false, contention: false }),
    asItWas: await without(run.stations, withStalls(bundle, serving, stalls)),
  };
}

function withStalls(
  bundle: Bundle,
  { stalls: _, ...path }: ServingPath,
  stalls: StallsSeen | null,
): Bundle {
  const serving = stalls === null ? path : { ...path, stalls };
  return { ...bundle, cluster: { ...bundle.cluster, serving } };
}
