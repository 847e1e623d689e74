/** Layers of a pushed policy: the bundle, its models and sidecars. */
import { basename } from "node:path";
import type { PartFile } from "../bundles/shipping/part-files.ts";
import { SIDECARS, type Sidecar, sidecarOf } from "../bundles/shipping/sidecars.ts";
import { descriptorOf } from "./manifest.ts";
import { MODEL, POLICY, TITLE } from "./media-types.ts";
import { SIDECAR_TYPES } from "./policy-artifact.ts";
import type { Sent } from "./upload.ts";

export interface ShippedPolicy {
  /** File of the verified bundle. */
  readonly bundle: { readonly path: string; readonly byteCount: number; readonly sha256: string };
  readonly parts: readonly PartFile[];
  /** Sidecar files by kind. */
  readonly sidecars: Readonly<Partial<Record<Sidecar, Uint8Array>>>;
}

/** Returns the layers in a deterministic order. */
export function policyLayers({ bundle, parts, sidecars }: ShippedPolicy): Sent[] {
  const { path, byteCount, sha256 } = bundle;
  const name = basename(path);
  return [
    fileLayer(POLICY, name, { path, bytes: byteCount, sha256 }),
    ...parts.map((part) => fileLayer(MODEL, part.file, part)),
    ...sidecarLayers(name, sidecars).map(({ sent }) => sent),
  ];
}

function fileLayer(
  mediaType: string,
  title: string,
  { path, bytes, sha256, content }: Pick<PartFile, "path" | "bytes" | "sha256" | "content">,
): Sent {
  const annotations = { [TITLE]: title };
  const descriptor = { mediaType, digest: `sha256:${sha256}`, size: bytes, annotations };
  return { descriptor, body: content ?? { path, bytes } };
}

/** @param name file name of the bundle. */
export function sidecarLayers(
  name: string,
  sidecars: ShippedPolicy["sidecars"],
): { readonly sidecar: Sidecar; readonly sent: Sent }[] {
  return SIDECARS.flatMap((sidecar) => {
    const bytes = sidecars[sidecar];
    if (bytes === undefined) return [];
    const annotations = { [TITLE]: sidecarOf(name, sidecar) };
    const descriptor = descriptorOf(SIDECAR_TYPES[sidecar], bytes, annotations);
    return [{ sidecar, sent: { descriptor, body: bytes } }];
  });
}
