/** Source of bundles in a registry: an artifact with the bundle, its models and sidecars. */
import { readFile, rm } from "node:fs/promises";
import { isRuntimeError, RuntimeError } from "../../base/errors.ts";
import { MAX_BUNDLE_BYTES } from "../../bundles/load-bundle.ts";
import type { ShippedPart } from "../../bundles/shipping/parts.ts";
import { MAX_SIDECAR_BYTES, SIDECARS, type Sidecar } from "../../bundles/shipping/sidecars.ts";
import { type Descriptor, sha256Of } from "../../registry/manifest.ts";
import { type PolicyArtifact, policyArtifact } from "../../registry/policy-artifact.ts";
import { formatReference } from "../../registry/reference.ts";
import { type FetchedManifest, openRegistry, type Registry } from "../../registry/registry.ts";
import { sidecarLayer } from "../../registry/sidecar-layers.ts";
import type { Found, PolicySource } from "./policy-source.ts";
import { AwayError } from "./source-error.ts";

interface RegistrySourceOptions {
  /** Variables with credentials for registries. */
  readonly environment: NodeJS.ProcessEnv;
  /** Path of a partial download. */
  readonly partOf: (sha256: string) => string;
  readonly signal: AbortSignal;
}

/** Last version found. */
interface Known {
  readonly etag: string | null;
  readonly digest: string;
  /** Digests of the sidecars, which may be pushed separately. */
  readonly sidecars: Readonly<Partial<Record<Sidecar, string>>>;
}

export class RegistrySource implements PolicySource {
  readonly name: string;
  readonly #registry: Registry;
  readonly #partOf: RegistrySourceOptions["partOf"];
  /** Last manifest received, so that an unchanged registry is asked once. */
  #last: FetchedManifest | null = null;

  /** @throws RuntimeError RUNTIME_USAGE if the reference is invalid. */
  constructor(reference: string, { environment, partOf, signal }: RegistrySourceOptions) {
    this.#registry = openRegistry(reference, { auth: { environment }, signal });
    this.name = formatReference(this.#registry.reference);
    this.#partOf = partOf;
  }

  async look(validator: string | null, signal: AbortSignal): Promise<Found | null> {
    const known = validator === null ? null : knownOf(validator);
    const now = await asking(signal, () => this.#registry.manifest(known?.etag ?? null));
    const isSame = now === null || now.digest === known?.digest;
    const last = this.#last?.digest === known?.digest ? this.#last : null;
    const fetched = now ?? last ?? (await asking(signal, () => this.#registry.manifest()));
    this.#last = fetched;
    if (fetched === null) throw new AwayError(`${this.name}: expected a manifest, got none`);
    const { digest, etag, manifest } = fetched;
    const artifact = policyArtifact(manifest, this.name);
    const sidecars = await asking(signal, () => this.#sidecars(artifact, digest));
    const found = { etag, digest, sidecars: digestsOf(sidecars) };
    if (isSame && known !== null && isEqual(found.sidecars, known.sidecars)) return null;
    const bytesOf = (layer: Descriptor | undefined, maxBytes: number) =>
      layer === undefined ? null : this.#bytesOf(layer, maxBytes);
    return {
      validator: JSON.stringify(found),
      bundle: await asking(signal, () => this.#bytesOf(artifact.bundle, MAX_BUNDLE_BYTES)),
      envelope: await asking(signal, async () => bytesOf(sidecars.signature, MAX_SIDECAR_BYTES)),
      provenance: await asking(signal, async () => bytesOf(sidecars.provenance, MAX_SIDECAR_BYTES)),
      fetch: (part, path, until) => this.#fetch(part, path, artifact, until),
    };
  }

  async #sidecars(
    artifact: PolicyArtifact,
    digest: string,
  ): Promise<Partial<Record<Sidecar, Descriptor>>> {
    const found: Partial<Record<Sidecar, Descriptor>> = {};
    for (const sidecar of SIDECARS) {
      const layer = await sidecarLayer(this.#registry, artifact, digest, sidecar);
      if (layer !== null) found[sidecar] = layer;
    }
    return found;
  }

  async #bytesOf(layer: Descriptor, maxBytes: number): Promise<Uint8Array> {
    const { digest, size } = layer;
    if (size > maxBytes) {
      const message = `expected at most ${maxBytes} bytes of ${digest}, got ${size}`;
      throw new RuntimeError("RUNTIME_SOURCE", `${this.name}: ${message}`);
    }
    const path = this.#partOf(sha256Of(layer));
    await this.#registry.blob(digest, path, { size, resume: true });
    const bytes = await readFile(path);
    await rm(path, { force: true });
    return bytes;
  }

  async #fetch(
    { file, sha256 }: ShippedPart,
    path: string,
    { layers }: PolicyArtifact,
    signal: AbortSignal,
  ): Promise<number> {
    const layer = layers.get(sha256);
    if (layer === undefined) {
      const expected = `expected a layer with ${file}, SHA-256 ${sha256}, which the bundle names`;
      throw new RuntimeError("RUNTIME_MODEL", `${this.name}: ${expected}; push it again`);
    }
    const { digest, size } = layer;
    await asking(signal, () => this.#registry.blob(digest, path, { size, resume: true }));
    return size;
  }
}

const PASSING = new Set(["RUNTIME_REGISTRY", "RUNTIME_CREDENTIALS", "RUNTIME_DIGEST"]);

/** Treats errors of the registry as temporary. */
async function asking<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  try {
    signal.throwIfAborted();
    return await work();
  } catch (error) {
    signal.throwIfAborted();
    if (!isRuntimeError(error) || !PASSING.has(error.code)) throw error;
    throw new AwayError(`${error.code} ${error.message}`);
  }
}

function digestsOf(sidecars: Partial<Record<Sidecar, Descriptor>>): Known["sidecars"] {
  const entries = Object.entries(sidecars).map(([name, { digest }]) => [name, digest]);
  return Object.fromEntries(entries);
}

function isEqual(one: Known["sidecars"], other: Known["sidecars"]): boolean {
  return SIDECARS.every((sidecar) => one[sidecar] === other[sidecar]);
}

/** Reads a validator that `look` wrote; null for anything else. */
function knownOf(validator: string): Known | null {
  try {
    const { etag, digest, sidecars }: Record<string, unknown> = JSON.parse(validator);
    if (typeof digest !== "string" || typeof sidecars !== "object") return null;
    return { etag: typeof etag === "string" ? etag : null, digest, sidecars: { ...sidecars } };
  } catch {
    return null;
  }
}
