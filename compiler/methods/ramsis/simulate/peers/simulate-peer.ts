/** Peers on the simulated cluster, and the tuning of their settings in hindsight. */
import type { RamsisBundle } from "stratagem-runtime/internal/bundle/schema";
import { Rng } from "stratagem-runtime/internal/core/rng";
import { type ArrivalProcess, initialQps } from "../../../../simulate/arrivals.ts";
import type { StationOptions } from "../../../../simulate/serving/stations.ts";
import type { PeerName } from "../baseline-names.ts";
import {
  type ClusterOptions,
  type ClusterOutcome,
  simulateCluster,
} from "../cluster-simulation.ts";
import type { PeerSetting } from "./peer.ts";
import { peerCluster } from "./peer-cluster.ts";
import { type Measured, PEERS, tune } from "./peers.ts";
import { tuningLooks } from "./tuning-looks.ts";

/** The simulated run; a tuning uses other random numbers. */
interface TunedFor extends Pick<ClusterOptions, "arrivals" | "durationMs" | "serviceTimes"> {
  readonly stations?: StationOptions;
}

/** Separate streams: no seed of a simulation gives the same arrivals. */
const TUNING_SEED = 1;
const ARRIVAL_STREAMS = [0x74756e65, 0x74756e66] as const;
const SERVICE_STREAMS = [0x74756e67, 0x74756e68] as const;
const PATH_STREAMS = [0x74756e69, 0x74756e6a] as const;

/**
 * @returns the outcomes of the queries; peers have no levels, so the highest one stands for all.
 */
export function simulatePeer(
  bundle: RamsisBundle,
  setting: PeerSetting,
  options: ClusterOptions,
): ClusterOutcome {
  const served = { ...bundle, levels: bundle.levels.slice(-1) };
  return simulateCluster(served, setting.open(), options);
}

export function paperSetting(
  bundle: RamsisBundle,
  name: PeerName,
  arrivals: ArrivalProcess,
): PeerSetting {
  return PEERS[name].paper(clusterUnder(bundle, arrivals));
}

/** The settings of a peer that tuning chooses among. */
export function triedSettings(
  bundle: RamsisBundle,
  name: PeerName,
  arrivals: ArrivalProcess,
): readonly PeerSetting[] {
  return PEERS[name].tunings(clusterUnder(bundle, arrivals));
}

/** The best of some settings, best first, measured on arrivals of the same kind and load. */
export function tunedSettings(
  bundle: RamsisBundle,
  settings: readonly PeerSetting[],
  { serviceTimes, stations: { machine: _, ...stations } = {}, ...simulated }: TunedFor,
): Measured[] {
  const looks = tuningLooks(simulated, bundle.slo.latencyMs);
  return tune(settings, (setting, round) =>
    simulatePeer(bundle, setting, {
      ...looks[round],
      serviceTimes,
      arrivalRng: new Rng(TUNING_SEED, ARRIVAL_STREAMS[round]),
      serviceRng: new Rng(TUNING_SEED, SERVICE_STREAMS[round]),
      path: { stations, rng: new Rng(TUNING_SEED, PATH_STREAMS[round]) },
    }),
  );
}

function clusterUnder(bundle: RamsisBundle, arrivals: ArrivalProcess) {
  const isSteady = arrivals.kind !== "trace";
  return peerCluster(bundle, { initialQps: initialQps(arrivals), isSteady });
}
