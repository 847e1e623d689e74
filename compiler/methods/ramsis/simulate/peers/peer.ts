/**
 * Interface of peers in the simulator: a dispatcher with the settings of its paper, and others to
 * try.
 */
import type { Dispatcher } from "stratagem-runtime/internal/methods/ramsis/core/dispatcher";
import type { PeerCluster } from "./peer-cluster.ts";

/**
 * The part of the runtime's dispatcher that a simulation drives. Peers never serve: a worker that
 * is lost under them keeps its batch for ever, no client cancels, and no bundle replaces another.
 */
export type SimulatedDispatcher = Pick<
  Dispatcher,
  | "workerCount"
  | "waitingCapacity"
  | "commandCapacity"
  | "wakeMs"
  | "onArrival"
  | "onBatchDone"
  | "onWake"
> &
  Partial<Pick<Dispatcher, "onWorkerLost" | "onRetry">>;

/** Named as in the output; times in ms, names end in their unit. */
export type PeerParameters = Readonly<Record<string, string | number | boolean>>;

/** A peer with all parameters chosen. */
export interface PeerSetting {
  readonly parameters: PeerParameters;
  /** A new dispatcher without any state. */
  readonly open: () => SimulatedDispatcher;
}

export interface Peer {
  /**
   * The setting of its paper or, if the paper leaves a choice to the operator, that of an operator
   * who knows the load.
   */
  readonly paper: (cluster: PeerCluster) => PeerSetting;
  /** The settings that tuning chooses among, including the paper's; at least one. */
  readonly tunings: (cluster: PeerCluster) => readonly PeerSetting[];
}
