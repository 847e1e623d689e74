/**
 * Referrers: artifacts about another one, such as later signatures. Uses the registry's API, or a
 * tag if it has none. Source: the distribution specification of OCI, 1.1.
 */
import { bodyOf } from "./http-client.ts";
import { type Descriptor, indexBytes, MAX_MANIFEST_BYTES, readIndex } from "./manifest.ts";
import { INDEX } from "./media-types.ts";
import { registryError } from "./registry-errors.ts";
import type { Transport } from "./transport.ts";
import { uploadManifest } from "./upload.ts";

/** Lists the referrers. @param digest of the artifact they refer to. */
export async function referrersOf(
  transport: Transport,
  base: string,
  digest: string,
): Promise<readonly Descriptor[]> {
  const listed = await indexAt(transport, `${base}/referrers/${digest}`);
  return listed ?? (await taggedReferrers(transport, base, digest));
}

/** Adds an entry to the list under a tag, for registries without the API. */
export async function tagReferrer(
  transport: Transport,
  base: string,
  digest: string,
  referrer: Descriptor,
): Promise<void> {
  const known = await taggedReferrers(transport, base, digest);
  if (known.some((one) => one.digest === referrer.digest)) return;
  const index = indexBytes([...known, referrer]);
  await uploadManifest(transport, base, tagOf(digest), INDEX, index);
}

async function taggedReferrers(
  transport: Transport,
  base: string,
  digest: string,
): Promise<readonly Descriptor[]> {
  return (await indexAt(transport, `${base}/manifests/${tagOf(digest)}`)) ?? [];
}

/** Converts a digest into a valid tag. */
function tagOf(digest: string): string {
  return digest.replace(":", "-");
}

/** Reads an index; null if missing. */
async function indexAt(transport: Transport, path: string): Promise<readonly Descriptor[] | null> {
  const url = transport.urlOf(path);
  return transport.retrying(path, async () => {
    const answer = await transport.ask({ method: "GET", url, headers: { accept: INDEX } });
    if (answer.status === 404) {
      answer.body.drop();
      return null;
    }
    if (answer.status !== 200) return transport.refuse(path, answer);
    const { bytes, isTooLarge } = await bodyOf(answer, MAX_MANIFEST_BYTES);
    if (isTooLarge)
      throw registryError(
        transport.where,
        `${path}: expected a list of at most ${MAX_MANIFEST_BYTES} bytes`,
      );
    return readIndex(bytes, `${transport.where}: ${path}`);
  });
}
