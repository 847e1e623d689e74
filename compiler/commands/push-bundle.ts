/**
 * Implements `push BUNDLE REF`: uploads a bundle with its models, signature and provenance to a
 * registry.
 */
import { basename, dirname } from "node:path";
import { EXIT_CODES, RuntimeError } from "stratagem-runtime/internal/base/errors";
import { readRegularFile } from "stratagem-runtime/internal/base/regular-file";
import { loadBundle } from "stratagem-runtime/internal/bundles/load-bundle";
import { checkedParts } from "stratagem-runtime/internal/bundles/shipping/part-files";
import { partsOf } from "stratagem-runtime/internal/bundles/shipping/parts";
import { expectAbout } from "stratagem-runtime/internal/bundles/shipping/sidecar-subject";
import {
  MAX_SIDECAR_BYTES,
  SIDECARS,
  type Sidecar,
  sidecarOf,
} from "stratagem-runtime/internal/bundles/shipping/sidecars";
import type { CommandResult } from "stratagem-runtime/internal/commands/command-result";
import { explainedTable } from "stratagem-runtime/internal/describe/text";
import type { Descriptor } from "stratagem-runtime/internal/registry/manifest";
import { MANIFEST, POLICY, TITLE } from "stratagem-runtime/internal/registry/media-types";
import {
  policyLayers,
  type ShippedPolicy,
  sidecarLayers,
} from "stratagem-runtime/internal/registry/policy-layers";
import {
  formatReference,
  type RegistryReference,
} from "stratagem-runtime/internal/registry/reference";
import {
  openRegistry,
  type Registry,
  type RegistryOptions,
} from "stratagem-runtime/internal/registry/registry";

interface PushOptions extends Pick<RegistryOptions, "auth" | "signal"> {
  /** Path of the bundle. */
  readonly bundle: string;
  readonly reference: RegistryReference;
  /** Folder of the models; null for the bundle's own. */
  readonly models: string | null;
}

/** @throws BundleError, RuntimeError */
export async function pushCommand(options: PushOptions): Promise<CommandResult> {
  const { reference, auth, signal, models } = options;
  const bundle = await loadBundle(options.bundle);
  const parts = await checkedParts(partsOf(bundle.bundle), models ?? dirname(bundle.path));
  const sidecars = await sidecarsOf(bundle.path, bundle.sha256);
  const registry = openRegistry(reference, { auth, signal, isPushed: true });
  const layers = policyLayers({ bundle, parts, sidecars });
  const { digest, bytes, wasSent } = await registry.push(POLICY, layers);
  const subject = { mediaType: MANIFEST, digest, size: bytes };
  const listed = await pushReferrers(registry, basename(bundle.path), sidecars, subject);
  const pushed = layers.map(({ descriptor }, at) => pushedLayer(descriptor, wasSent[at] ?? false));
  const pinned = formatReference({ ...reference, digest });
  return {
    exitCode: EXIT_CODES.ok,
    text: [
      `pushed ${pinned}`,
      "",
      layerTable(pushed),
      ...(sidecars.signature === undefined
        ? ["", "the bundle has no signature; use sign to add one"]
        : []),
    ].join("\n"),
    json: {
      reference: formatReference(reference),
      digest,
      pinned,
      isSigned: sidecars.signature !== undefined,
      layers: pushed,
      referrers: listed,
    },
  };
}

/** @throws RuntimeError RUNTIME_SIGNATURE for a sidecar of another bundle. */
async function sidecarsOf(path: string, sha256: string): Promise<ShippedPolicy["sidecars"]> {
  const found: Partial<Record<Sidecar, Uint8Array>> = {};
  for (const sidecar of SIDECARS) {
    const place = sidecarOf(path, sidecar);
    const bytes = await bytesAt(place);
    if (bytes === null) continue;
    expectAbout(place, bytes, sha256);
    found[sidecar] = bytes;
  }
  return found;
}

/** Returns null if the file does not exist. */
async function bytesAt(path: string): Promise<Uint8Array | null> {
  const file = await readRegularFile(path, MAX_SIDECAR_BYTES).catch((error) => {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return null;
    const reason = code ?? message;
    throw new RuntimeError("RUNTIME_UNREADABLE", `${path}: expected a file, got ${reason}`);
  });
  if (file?.isTooLarge !== true) return file?.bytes ?? null;
  const message = `${path}: expected at most ${MAX_SIDECAR_BYTES} bytes, got more`;
  throw new RuntimeError("RUNTIME_UNREADABLE", message);
}

/** @returns how the registry lists referrers; null if there were none to push. */
async function pushReferrers(
  registry: Registry,
  name: string,
  sidecars: ShippedPolicy["sidecars"],
  subject: Descriptor,
): Promise<"api" | "tag" | null> {
  let listed: "api" | "tag" | null = null;
  for (const { sent } of sidecarLayers(name, sidecars)) {
    listed = await registry.pushReferrer(sent.descriptor.mediaType, [sent], subject);
  }
  return listed;
}

interface PushedLayer {
  readonly file: string;
  readonly mediaType: string;
  readonly digest: string;
  readonly bytes: number;
  /** False if the registry already had it. */
  readonly wasSent: boolean;
}

function pushedLayer(layer: Descriptor, wasSent: boolean): PushedLayer {
  const { mediaType, digest, size: bytes, annotations = {} } = layer;
  return { file: annotations[TITLE] ?? "", mediaType, digest, bytes, wasSent };
}

function layerTable(layers: readonly PushedLayer[]): string {
  return explainedTable([
    ["file", "bytes", "sha256", ""],
    ...layers.map(({ file, bytes, digest, wasSent }) => {
      const short = `${digest.replace("sha256:", "").slice(0, 12)}…`;
      return [file, String(bytes), short, wasSent ? "sent" : "existed"];
    }),
  ]);
}
