/** A policy as an artifact: bundle, files that it names, signature and provenance. */
import type { Sidecar } from "../bundles/shipping/sidecars.ts";
import { type Descriptor, type Manifest, sha256Of } from "./manifest.ts";
import { POLICY, PROVENANCE, SIGNATURE, TITLE } from "./media-types.ts";
import { registryError } from "./registry-errors.ts";

export const SIDECAR_TYPES: Readonly<Record<Sidecar, string>> = {
  signature: SIGNATURE,
  provenance: PROVENANCE,
};

export interface PolicyArtifact {
  readonly bundle: Descriptor;
  /** File name of the pushed bundle, without directories; null if not stated. */
  readonly title: string | null;
  /** Sidecars that are layers of the artifact. */
  readonly sidecars: Readonly<Partial<Record<Sidecar, Descriptor>>>;
  /** All layers by SHA-256; the bundle names those that are its models. */
  readonly layers: ReadonlyMap<string, Descriptor>;
}

const FILE_NAME = /^(?!\.{1,2}$)[^\\/\p{Cc}]{1,255}$/u;

/**
 * Interprets a manifest. Names that it gives to models are ignored: the bundle names them.
 * @throws RuntimeError RUNTIME_REGISTRY for other artifacts.
 */
export function policyArtifact({ artifactType, layers }: Manifest, where: string): PolicyArtifact {
  const [bundle, second] = layers.filter(({ mediaType }) => mediaType === POLICY);
  if (artifactType !== POLICY || bundle === undefined || second !== undefined) {
    const isPolicy = artifactType === POLICY;
    const found = isPolicy ? `${layers.length} layers` : JSON.stringify(artifactType);
    const expected = `expected an artifact of ${POLICY} with one bundle`;
    throw registryError(where, `${expected}, got ${found.slice(0, 200)}`);
  }
  const of = (type: string) => layers.find(({ mediaType }) => mediaType === type);
  const [signature, provenance] = [of(SIGNATURE), of(PROVENANCE)];
  const title = bundle.annotations?.[TITLE] ?? null;
  if (title !== null && !FILE_NAME.test(title)) {
    const found = JSON.stringify(title.slice(0, 200));
    throw registryError(
      where,
      `expected a file name of the bundle without directories, got ${found}`,
    );
  }
  return {
    bundle,
    title,
    sidecars: {
      ...(signature === undefined ? {} : { signature }),
      ...(provenance === undefined ? {} : { provenance }),
    },
    layers: new Map(layers.map((layer) => [sha256Of(layer), layer])),
  };
}
