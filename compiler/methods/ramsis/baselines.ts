/** The baselines of bundles with one task, as the command line names them. */
import { RuntimeError } from "stratagem-runtime/internal/errors";
import type { PeerParameters } from "./simulate/peers/peer.ts";

/** Tables without a parameter. */
const TABLES = ["greedy", "jellyfish", "model-switching"] as const;

/** Other systems, each with a dispatcher of its own, which is loaded where it is simulated. */
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

/** A rule or system that a policy has to beat. */
export type Baseline = TableBaseline | PeerBaseline;

export type TableBaseline =
  | { readonly kind: "fixed"; readonly variant: string }
  | { readonly kind: (typeof TABLES)[number] };

export interface PeerBaseline {
  readonly kind: PeerName;
  /** Whether its parameters are chosen in hindsight, on other arrivals of the same kind. */
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

/** In the order that the help and messages have them. */
export const SINGLE_BASELINES: readonly string[] = ["fixed:VARIANT", ...TABLES, ...PEER_NAMES];

/**
 * @param tuned whether its parameters are to be chosen in hindsight. @returns null for a text that
 * names none. @throws RuntimeError where nothing can be tuned.
 */
export function singleBaselineNamed(text: string, tuned: boolean): Baseline | null {
  const peer = PEER_NAMES.find((name) => name === text);
  if (peer !== undefined) return { kind: peer, tuned };
  const table = tableNamed(text);
  if (table === null || !tuned) return table;
  throw new RuntimeError(
    "RUNTIME_USAGE",
    `--tuned: baseline ${text} has nothing to tune; allowed with ${PEER_NAMES.join(", ")}`,
  );
}

function tableNamed(text: string): Baseline | null {
  const [kind = "", variant, ...rest] = text.split(":");
  if (kind === "fixed" && variant && rest.length === 0) return { kind, variant };
  const name = TABLES.find((table) => table === text);
  return name === undefined ? null : { kind: name };
}

/** One line for people. */
export function baselineLine({ name, tuned, parameters }: SimulatedBaseline): string {
  const pairs = Object.entries(parameters).map(([key, value]) => `${key} ${value}`);
  const how = tuned ? ", tuned in hindsight" : "";
  return `baseline ${name}${how}${pairs.length > 0 ? `: ${pairs.join(", ")}` : ""}`;
}
