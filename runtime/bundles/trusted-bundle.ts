/** Bundles that are used only if their signatures are valid. */
import type { Bundle } from "../bundle/schema.ts";
import { bundleOfBytes, type LoadedBundle, readBundleFile } from "./load-bundle.ts";
import { sidecarOf } from "./shipping/sidecars.ts";
import { malformed } from "./trust/envelope.ts";
import { readEnvelopeFile } from "./trust/envelope-file.ts";
import type { Claims, Trust } from "./trust/trust.ts";

export interface TrustedBundle extends LoadedBundle {
  /** Content of its signature; null if none is required. */
  readonly claims: Claims | null;
}

/**
 * Reads a bundle, and its signature beside it. The bundle is decoded only after its signature has
 * been verified.
 * @param trust null if no signature is required.
 * @throws the errors of `loadBundle` and `Trust.expect`.
 */
export async function loadTrusted(path: string, trust: Trust | null): Promise<TrustedBundle> {
  const bytes = await readBundleFile(path);
  if (trust === null) return { ...(await bundleOfBytes(path, bytes)), claims: null };
  const envelope = await readEnvelopeFile(sidecarOf(path, "signature"));
  const claims = await trust.expect(bytes, envelope, path);
  const loaded = await bundleOfBytes(path, bytes);
  expectClaimed(loaded.bundle, claims, path);
  return { ...loaded, claims };
}

/**
 * Checks that the signature names the bundle's application, under which its serial is remembered.
 * @throws RuntimeError RUNTIME_SIGNATURE
 */
export function expectClaimed(
  { application }: Pick<Bundle, "application">,
  claims: Claims,
  place: string,
): void {
  if (claims.application === application) return;
  const where = `signature of ${place}: application`;
  throw malformed(where, `"${application}"`, `"${claims.application}"`);
}
