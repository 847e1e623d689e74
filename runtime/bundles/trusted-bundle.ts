/** Bundles that are followed only if their signatures hold. */
import type { Bundle } from "../bundle/schema.ts";
import { bundleOfBytes, type LoadedBundle, readBundleFile } from "./load-bundle.ts";
import { sidecarOf } from "./shipping/sidecars.ts";
import { malformed } from "./trust/envelope.ts";
import { readEnvelopeFile } from "./trust/envelope-file.ts";
import type { Claims, Trust } from "./trust/trust.ts";

export interface TrustedBundle extends LoadedBundle {
  /** What its signature says; null where none is asked for. */
  readonly claims: Claims | null;
}

/**
 * Reads a bundle, and its signature beside it. Nothing of a bundle is decoded before its signature
 * holds.
 * @param trust null where no signature is asked for.
 * @throws what `loadBundle` and `Trust.expect` throw.
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
 * A serial is remembered by the application that the signature names, so it has to be the bundle's.
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
