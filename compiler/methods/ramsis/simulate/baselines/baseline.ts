/** Makes the bundle of a baseline, by its name. */
import type { RamsisBundle } from "stratagem-runtime/internal/bundle/schema";
import { InputError } from "../../../../spec/input-error.ts";
import { taskOf } from "../baseline-bundle.ts";
import { PEER_NAMES, type PeerName } from "../peers/peers.ts";
import { fixedVariantBundle } from "./fixed-variant.ts";
import { greedyBundle } from "./greedy.ts";
import { jellyfishBundle } from "./jellyfish.ts";
import { modelSwitchingBundle, type ResponseLatencyProfiler } from "./model-switching.ts";

/** What a policy has to beat: a table, or another system with a dispatcher of its own. */
export type Baseline = TableBaseline | PeerBaseline;

export type TableBaseline =
  | { readonly kind: "fixed"; readonly variant: string }
  | { readonly kind: "greedy" }
  | { readonly kind: "jellyfish" }
  | { readonly kind: "model-switching" };

interface PeerBaseline {
  readonly kind: PeerName;
  /** Whether its parameters are chosen in hindsight. */
  readonly tuned: boolean;
}

export function isPeer(baseline: Baseline): baseline is PeerBaseline {
  return PEER_NAMES.some((name) => name === baseline.kind);
}

/**
 * The application of a bundle under a baseline instead of its policy, as a bundle, so that the same
 * core follows it.
 * @throws InputError INPUT_INVALID_VALUE if the bundle has no such variant.
 */
export function baselineBundle(
  bundle: RamsisBundle,
  baseline: TableBaseline,
  profile: ResponseLatencyProfiler,
): RamsisBundle {
  switch (baseline.kind) {
    case "fixed":
      return fixedVariantBundle(bundle, variantNamed(bundle, baseline.variant));
    case "greedy":
      return greedyBundle(bundle);
    case "jellyfish":
      return jellyfishBundle(bundle);
    case "model-switching":
      return modelSwitchingBundle(bundle, profile);
  }
}

function variantNamed(bundle: RamsisBundle, name: string): number {
  const { variants } = taskOf(bundle);
  const variant = variants.findIndex((candidate) => candidate.name === name);
  if (variant !== -1) return variant;
  const names = variants.map((candidate) => candidate.name).join(", ");
  throw new InputError(
    "INPUT_INVALID_VALUE",
    `baseline: no variant "${name}"; the bundle has ${names}`,
  );
}
