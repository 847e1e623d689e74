/** Drives the dispatcher of a bundle on a virtual clock. */
import type { RamsisBundle } from "stratagem-runtime/internal/bundle/schema";
import { assert } from "stratagem-runtime/internal/core/assert";
import { Rng } from "stratagem-runtime/internal/core/rng";
import { dispatcherOf } from "stratagem-runtime/internal/methods/ramsis/core/dispatcher-of";
import type { ArrivalProcess } from "../../../simulate/arrivals.ts";
import type { OnOutcome } from "../../../simulate/outcomes.ts";
import { CLASS_STREAM, QueryClasses } from "../../../simulate/query-classes.ts";
import { type ServiceTimeMode, serviceRng } from "../../../simulate/service-times.ts";
import { PATH_STREAM, type StationOptions } from "../../../simulate/serving/stations.ts";
import type { SimulatedBaseline } from "./baseline-names.ts";
import { type ClusterOptions, type ClusterOutcome, simulateCluster } from "./cluster-simulation.ts";
import type { OnViolation } from "./query-counts.ts";

export interface SimulationOptions {
  readonly arrivals: ArrivalProcess;
  /**
   * Queries arrive from time 0 until this time, exclusive; those waiting then are still served and
   * counted.
   */
  readonly durationMs: number;
  readonly seed: number;
  readonly serviceTimes: ServiceTimeMode;
  /** Parts of the serving machine to simulate, if the bundle describes them; default: all. */
  readonly stations?: StationOptions;
  /** Whether decisions follow the pace of the workers; default: true. */
  readonly adapts?: boolean;
  /** Only these queries are counted; default: all. */
  readonly counted?: ClusterOptions["counted"];
  /** Called for every query that is late or dropped. */
  readonly onViolation?: OnViolation;
  /** Called for every query. */
  readonly onOutcome?: OnOutcome;
}

export interface SimulationResult extends ClusterOutcome {
  readonly seed: number;
  readonly durationMs: number;
  /** Left out for the policy itself. */
  readonly baseline?: SimulatedBaseline;
}

/** Random streams of one seed: a policy never changes the arrivals it is compared on. */
const ARRIVAL_STREAM = 1;
const SERVICE_STREAM = 2;

/**
 * Serves simulated arrivals with the decisions of a bundle, on a virtual clock.
 *
 * Uses the production dispatcher; here a started batch becomes a completion in the future. At equal
 * times arrivals come before completions. The same bundle, options and seed give the same result.
 * @throws InputError if sampled service times are requested and the bundle has no quantiles.
 */
export function simulate(bundle: RamsisBundle, options: SimulationOptions): SimulationResult {
  const { durationMs, seed } = options;
  const reference = options.serviceTimes === "sampled" ? "measured" : "decision";
  const { adapts = true, stations: { contention: contends = true } = {} } = options;
  const dispatcher = dispatcherOf(bundle, { ready: true, adapt: adapts, reference, contends });
  options.stations?.onPace?.(dispatcher.pace);
  return {
    seed,
    durationMs,
    ...simulateCluster(bundle, dispatcher, clusterOptions(bundle, options)),
  };
}

/** @param bundle defines the classes of queries. */
export function clusterOptions(
  bundle: RamsisBundle,
  {
    arrivals,
    durationMs,
    seed,
    serviceTimes,
    stations = {},
    counted,
    onViolation,
    onOutcome,
  }: SimulationOptions,
): ClusterOptions {
  assert(durationMs >= 0 && durationMs < Number.POSITIVE_INFINITY, "a simulation ends");
  return {
    arrivals,
    durationMs,
    serviceTimes,
    arrivalRng: new Rng(seed, ARRIVAL_STREAM),
    serviceRng: serviceRng(seed, SERVICE_STREAM, stations),
    path: { stations, rng: new Rng(seed, PATH_STREAM) },
    classes: QueryClasses.ofBundle(bundle, new Rng(seed, CLASS_STREAM)),
    ...(counted !== undefined && { counted }),
    ...(onViolation !== undefined && { onViolation }),
    ...(onOutcome !== undefined && { onOutcome }),
  };
}
