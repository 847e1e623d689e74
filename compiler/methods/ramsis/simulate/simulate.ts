/** Drives the dispatcher of a bundle, or of a peer, on a virtual clock. */
import type { RamsisBundle } from "stratagem-runtime/internal/bundle/schema";
import { assert } from "stratagem-runtime/internal/core/assert";
import { Rng } from "stratagem-runtime/internal/core/rng";
import { withoutBuckets } from "stratagem-runtime/internal/methods/ramsis/bundle/bucket-views";
import { withoutClasses } from "stratagem-runtime/internal/methods/ramsis/bundle/class-views";
import { dispatcherOf } from "stratagem-runtime/internal/methods/ramsis/core/dispatcher-of";
import type { ArrivalProcess } from "../../../simulate/arrivals.ts";
import type { OnOutcome } from "../../../simulate/outcomes.ts";
import { CLASS_STREAM, QueryClasses } from "../../../simulate/query-classes.ts";
import type { ServiceTimeMode } from "../../../simulate/service-times.ts";
import { PATH_STREAM, type StationOptions } from "../../../simulate/serving/stations.ts";
import { type Baseline, baselineBundle, isPeer } from "./baselines/baseline.ts";
import type { ResponseLatencyProfiler } from "./baselines/model-switching.ts";
import type { OutcomeByClass } from "./class-tally.ts";
import { type ClusterOptions, simulateCluster } from "./cluster-simulation.ts";
import type { PeerParameters, PeerSetting } from "./peers/peer.ts";
import type { PeerName } from "./peers/peers.ts";
import { paperSetting, simulatePeer, triedSettings, tunedSettings } from "./peers/simulate-peer.ts";
import type { OnViolation } from "./query-counts.ts";

export interface SimulationOptions {
  readonly arrivals: ArrivalProcess;
  /**
   * Queries arrive from time 0 until this time, exclusive; what waits then is still served and
   * counted.
   */
  readonly durationMs: number;
  readonly seed: number;
  readonly serviceTimes: ServiceTimeMode;
  /** Null simulates the policy of the bundle; otherwise what it has to beat. */
  readonly baseline: Baseline | null;
  /** What of the machine that serves is simulated, where the bundle knows it; by default all. */
  readonly stations?: StationOptions;
  /** Whether decisions follow the pace of the workers; true unless said otherwise. */
  readonly adapts?: boolean;
  /** Only these queries are counted; by default all of them. */
  readonly counted?: ClusterOptions["counted"];
  /** Told of every query that is late or dropped. */
  readonly onViolation?: OnViolation;
  /** Told of every query. */
  readonly onOutcome?: OnOutcome;
}

export interface SimulationResult extends OutcomeByClass {
  readonly seed: number;
  readonly durationMs: number;
  /**
   * What was simulated instead of the policy, and with which parameters; left out for the policy
   * itself.
   */
  readonly baseline?: SimulatedBaseline;
}

export interface SimulatedBaseline {
  readonly name: string;
  /** Whether the parameters were chosen in hindsight, on other arrivals of the same kind. */
  readonly tuned: boolean;
  readonly parameters: PeerParameters;
}

/** Random streams of one seed: a policy never changes which arrivals it is compared on. */
const ARRIVAL_STREAM = 1;
const SERVICE_STREAM = 2;

/**
 * Profiles that a baseline needs are measured over this time each, and with this seed, so that they
 * do not depend on what is simulated.
 */
const PROFILE_DURATION_MS = 60_000;
const PROFILE_SEED = 0x70726f66;

/**
 * Serves simulated arrivals with the decisions of a bundle, on a virtual clock.
 *
 * The dispatcher is the one that serves real queries, or a peer's; here a started batch becomes a
 * completion in the future. At equal times arrivals come before completions. Same bundle, options
 * and seed give the same result.
 * @throws InputError if the baseline names no variant, or service times are to be sampled and the
 * bundle holds no quantiles.
 */
export function simulate(bundle: RamsisBundle, options: SimulationOptions): SimulationResult {
  const { baseline, durationMs, seed } = options;
  assert(durationMs >= 0 && durationMs < Number.POSITIVE_INFINITY, "a simulation ends");
  const run = { seed, durationMs };
  const isPadded = baseline !== null && bundle.buckets !== undefined;
  const cluster = clusterOptions(isPadded ? withoutBuckets(bundle) : bundle, options);
  if (baseline === null) {
    const reference = options.serviceTimes === "sampled" ? "measured" : "decision";
    const { adapts = true, stations: { contention: contends = true } = {} } = options;
    const decides = { ready: true, adapt: adapts, reference, contends } as const;
    const dispatcher = dispatcherOf(bundle, decides);
    return { ...run, ...simulateCluster(bundle, dispatcher, cluster) };
  }
  const { paceLevels: _, ...steady } = bundle;
  const served = ofLargestBucket(ofShortestSlo(steady));
  if (isPeer(baseline)) {
    const { kind: name, tuned } = baseline;
    const setting = tuned
      ? bestSetting(served, name, options)
      : paperSetting(served, name, options.arrivals);
    const outcome = simulatePeer(served, setting, cluster);
    return { ...run, ...outcome, baseline: { name, tuned, parameters: setting.parameters } };
  }
  const { kind: name, ...parameters } = baseline;
  const made = baselineBundle(served, baseline, responseLatencyProfiler(options));
  const outcome = simulateCluster(made, dispatcherOf(made, { ready: true, adapt: false }), cluster);
  return { ...run, ...outcome, baseline: { name, tuned: false, parameters } };
}

function clusterOptions(
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
  return {
    arrivals,
    durationMs,
    serviceTimes,
    arrivalRng: new Rng(seed, ARRIVAL_STREAM),
    serviceRng: new Rng(seed, SERVICE_STREAM),
    path: { stations, rng: new Rng(seed, PATH_STREAM) },
    classes: QueryClasses.ofBundle(bundle, new Rng(seed, CLASS_STREAM)),
    ...(counted !== undefined && { counted }),
    ...(onViolation !== undefined && { onViolation }),
    ...(onOutcome !== undefined && { onOutcome }),
  };
}

/** The setting that does best on other arrivals of the same kind. */
function bestSetting(
  bundle: RamsisBundle,
  name: PeerName,
  options: SimulationOptions,
): PeerSetting {
  const [best] = tunedSettings(bundle, triedSettings(bundle, name, options.arrivals), options);
  assert(best !== undefined, "a peer has a setting");
  return best.setting;
}

/**
 * What a baseline knows of a bundle with classes: one queue, and the SLO that it has to keep for
 * every query to be in time.
 */
function ofShortestSlo(bundle: RamsisBundle): RamsisBundle {
  const { classes } = bundle.slo;
  if (classes === undefined) return bundle;
  const alone = withoutClasses(bundle);
  const latencyMs = Math.min(...classes.map((sloClass) => sloClass.latencyMs));
  return { ...alone, slo: { ...alone.slo, latencyMs } };
}

/** A baseline pads every request to the largest bucket, since it knows of no other. */
function ofLargestBucket(bundle: RamsisBundle): RamsisBundle {
  return bundle.buckets === undefined ? bundle : withoutBuckets(bundle);
}

/**
 * Measures on the simulated cluster itself, under arrivals as its bundle was compiled for, Poisson
 * where these are a trace.
 */
function responseLatencyProfiler({
  serviceTimes,
  stations: { machine: _, ...stations } = {},
}: Pick<SimulationOptions, "serviceTimes" | "stations">): ResponseLatencyProfiler {
  return (cluster, loadQps) => {
    const { arrivals } = cluster;
    const { dropped, latencyMs } = simulate(cluster, {
      arrivals:
        arrivals.process === "gamma"
          ? { kind: "gamma", qps: loadQps, cv2: arrivals.cv2 }
          : { kind: "poisson", qps: loadQps },
      durationMs: PROFILE_DURATION_MS,
      seed: PROFILE_SEED,
      serviceTimes,
      stations,
      baseline: null,
    });
    return dropped > 0 ? Number.POSITIVE_INFINITY : (latencyMs?.p99 ?? 0);
  };
}
