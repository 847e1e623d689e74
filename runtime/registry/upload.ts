/** Uploads content that a registry does not have yet. */
import type { IncomingHttpHeaders } from "node:http";
import type { HttpBody } from "../base/http-client.ts";
import { type Descriptor, digestOfBytes } from "./manifest.ts";
import { registryError } from "./registry-errors.ts";
import type { Transport } from "./transport.ts";

/** A blob or manifest to upload, with its descriptor. */
export interface Sent {
  readonly descriptor: Descriptor;
  readonly body: HttpBody;
}

/**
 * Uploads a blob.
 * @param base path of the repository, such as `/v2/team/policy`.
 * @returns whether it was sent; false if the registry already had it.
 * @throws RuntimeError RUNTIME_REGISTRY, RUNTIME_CREDENTIALS
 */
export async function uploadBlob(
  transport: Transport,
  base: string,
  { descriptor: { digest }, body }: Sent,
): Promise<boolean> {
  return transport.retrying(digest, async () => {
    if (await isThere(transport, base, digest)) return false;
    const place = await uploadPlace(transport, base);
    const headers = { "content-type": "application/octet-stream" };
    const answer = await transport.ask({
      method: "PUT",
      url: withDigest(place, digest),
      headers,
      body,
    });
    if (answer.status !== 201) return transport.refuse(digest, answer);
    answer.body.drop();
    return true;
  });
}

/**
 * Uploads a manifest.
 * @param name tag or digest of the manifest.
 * @returns whether the registry lists it as a referrer, if it refers to another artifact.
 * @throws RuntimeError RUNTIME_REGISTRY, RUNTIME_CREDENTIALS
 */
export async function uploadManifest(
  transport: Transport,
  base: string,
  name: string,
  mediaType: string,
  body: Buffer,
): Promise<{ readonly isListed: boolean }> {
  const url = transport.urlOf(`${base}/manifests/${name}`);
  const headers = { "content-type": mediaType };
  return transport.retrying(name, async () => {
    const answer = await transport.ask({ method: "PUT", url, headers, body });
    if (answer.status !== 201) return transport.refuse(name, answer);
    answer.body.drop();
    const [digest, found] = [digestOfBytes(body), statedDigest(answer.headers)];
    if (found !== null && found !== digest) {
      throw registryError(
        transport.where,
        `expected the registry to store ${digest}, got ${found}`,
      );
    }
    return { isListed: answer.headers["oci-subject"] !== undefined };
  });
}

/** Digest stated in a response; null if missing or of another algorithm. */
export function statedDigest(headers: IncomingHttpHeaders): string | null {
  const digest = headers["docker-content-digest"];
  return typeof digest === "string" && digest.startsWith("sha256:") ? digest : null;
}

async function isThere(transport: Transport, base: string, digest: string): Promise<boolean> {
  const url = transport.urlOf(`${base}/blobs/${digest}`);
  const answer = await transport.ask({ method: "HEAD", url });
  if (answer.status !== 200 && answer.status !== 404) return transport.refuse(digest, answer);
  answer.body.drop();
  return answer.status === 200;
}

async function uploadPlace(transport: Transport, base: string): Promise<URL> {
  const url = transport.urlOf(`${base}/blobs/uploads/`);
  const answer = await transport.ask({ method: "POST", url, body: new Uint8Array() });
  if (answer.status !== 202) return transport.refuse("upload", answer);
  answer.body.drop();
  const { location = "" } = answer.headers;
  const place = URL.canParse(location, url.href) ? new URL(location, url) : null;
  if (place?.protocol === "https:" || place?.protocol === url.protocol) return place;
  throw registryError(transport.where, `expected an upload URL within ${url.protocol}`);
}

/** Adds the digest to the query of an upload URL. */
function withDigest(place: URL, digest: string): URL {
  const url = new URL(place);
  url.search = `${url.search}${url.search === "" ? "?" : "&"}digest=${encodeURIComponent(digest)}`;
  return url;
}
