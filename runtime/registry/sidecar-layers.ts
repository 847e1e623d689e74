/** Finds the sidecars of a pulled policy among its layers or its referrers. */
import type { Sidecar } from "../bundles/shipping/sidecars.ts";
import type { Descriptor } from "./manifest.ts";
import { type PolicyArtifact, SIDECAR_TYPES } from "./policy-artifact.ts";
import type { Registry } from "./registry.ts";

/**
 * Returns null if missing. Among several referrers, the last one listed counts.
 * @param digest of the policy's manifest.
 * @throws RuntimeError RUNTIME_REGISTRY, RUNTIME_CREDENTIALS, RUNTIME_DIGEST
 */
export async function sidecarLayer(
  registry: Pick<Registry, "referrers" | "manifestOf">,
  { sidecars }: Pick<PolicyArtifact, "sidecars">,
  digest: string,
  sidecar: Sidecar,
): Promise<Descriptor | null> {
  const own = sidecars[sidecar];
  if (own !== undefined) return own;
  const type = SIDECAR_TYPES[sidecar];
  const referrers = await registry.referrers(digest);
  const last = referrers.findLast(({ artifactType }) => artifactType === type);
  if (last === undefined) return null;
  const { manifest } = await registry.manifestOf(last.digest);
  return manifest.layers.find(({ mediaType }) => mediaType === type) ?? null;
}
