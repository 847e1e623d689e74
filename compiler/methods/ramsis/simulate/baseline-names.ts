/** Names of the baselines of bundles with one task. */
import type { PeerParameters } from "./peers/peer.ts";

/** Tables without a parameter. */
export const TABLES = ["greedy", "jellyfish", "model-switching"] as const;

/** Other systems, each with its own dispatcher, which is loaded when it is simulated. */
export const PEER_NAMES = [
  "proteus",
  "symphony",
  "slackfit",
  "slackfit-b",
  "clockwork",
  "nexus",
  "infaas",
  "maxacc",
  "maxbatch",
] as const;
export type PeerName = (typeof PEER_NAMES)[number];

/** A rule or system to compare a policy with. */
export type Baseline = TableBaseline | PeerBaseline;

export type TableBaseline =
  | { readonly kind: "fixed"; readonly variant: string }
  | { readonly kind: (typeof TABLES)[number] };

export interface PeerBaseline {
  readonly kind: PeerName;
  /** Whether its parameters are tuned in hindsight, on other arrivals of the same kind. */
  readonly tuned: boolean;
}

/** The baseline that was simulated instead of a policy. */
export interface SimulatedBaseline {
  readonly name: string;
  readonly tuned: boolean;
  readonly parameters: PeerParameters;
}

export function isPeer(baseline: Baseline): baseline is PeerBaseline {
  return PEER_NAMES.some((name) => name === baseline.kind);
}
