/** Files beside a bundle: its signature and its provenance. */

/** Suffixes of the name of the bundle's file. */
export const SIDECAR_ENDINGS = { signature: ".dsse.json", provenance: ".intoto.json" } as const;

export type Sidecar = keyof typeof SIDECAR_ENDINGS;

/** In the order in which they are shipped. */
export const SIDECARS: readonly Sidecar[] = ["signature", "provenance"];

/** Size limit; a signature takes a few KiB, a statement with all digests more. */
export const MAX_SIDECAR_BYTES = 4 * 2 ** 20;

/** @param bundle path, or name, of the bundle's file. */
export function sidecarOf(bundle: string, sidecar: Sidecar): string {
  return `${bundle}${SIDECAR_ENDINGS[sidecar]}`;
}
