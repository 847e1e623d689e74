/** Client of one repository in a registry: reads, downloads and pushes its content. */
import { Authorizer } from "./authorizer.ts";
import { credentialsFor, type RegistryAuth } from "./credentials.ts";
import { type DownloadOptions, download } from "./download.ts";
import { bodyOf, type RegistryTimeouts, TIMEOUTS } from "./http-client.ts";
import {
  type Descriptor,
  descriptorOf,
  digestOfBytes,
  EMPTY_BYTES,
  EMPTY_CONFIG,
  MAX_MANIFEST_BYTES,
  type Manifest,
  manifestBytes,
  readManifest,
} from "./manifest.ts";
import { MANIFEST } from "./media-types.ts";
import { formatReference, parseReference, type RegistryReference, wantedOf } from "./reference.ts";
import { referrersOf, tagReferrer } from "./referrers.ts";
import { digestError, registryError } from "./registry-errors.ts";
import { Transport } from "./transport.ts";
import { type Sent, statedDigest, uploadBlob, uploadManifest } from "./upload.ts";

export interface RegistryOptions {
  /** Credentials; omitted for those in the default files. */
  readonly auth?: RegistryAuth | undefined;
  /** Aborts running operations, with its reason. */
  readonly signal?: AbortSignal | undefined;
  /** First pause before a retry, by default 250 ms. */
  readonly retryMs?: number | undefined;
  readonly timeouts?: RegistryTimeouts | undefined;
  /** Whether to request push access; by default false. */
  readonly isPushed?: boolean | undefined;
}

export interface FetchedManifest {
  /** `sha256:` and 64 digits. */
  readonly digest: string;
  /** For conditional requests; null if the registry sends none. */
  readonly etag: string | null;
  readonly manifest: Manifest;
  readonly bytes: Buffer;
}

interface PushedManifest {
  readonly digest: string;
  readonly bytes: number;
  /** Whether each layer was uploaded; others already existed. */
  readonly wasSent: readonly boolean[];
}

const RETRY_MS = 250;

/**
 * Opens a repository without sending requests yet.
 * @throws RuntimeError RUNTIME_USAGE for an invalid reference.
 */
export function openRegistry(
  reference: string | RegistryReference,
  options: RegistryOptions = {},
): Registry {
  const named = typeof reference === "string" ? parseReference(reference) : reference;
  return new Registry(named, options);
}

export class Registry {
  readonly reference: RegistryReference;
  readonly #transport: Transport;
  /** Path of the repository. */
  readonly #base: string;

  constructor(
    reference: RegistryReference,
    {
      auth = {},
      signal,
      retryMs = RETRY_MS,
      timeouts = TIMEOUTS,
      isPushed = false,
    }: RegistryOptions,
  ) {
    const { protocol, host, repository } = reference;
    const where = formatReference(reference);
    const origin = new URL(`${protocol}//${serverOf(host)}`);
    const authorizer = new Authorizer({
      ...{ where, protocol, signal, timeouts },
      scope: `repository:${repository}:${isPushed ? "pull,push" : "pull"}`,
      credentials: () => credentialsFor(reference, auth),
    });
    this.reference = reference;
    this.#transport = new Transport({ where, origin, authorizer, signal, timeouts, retryMs });
    this.#base = `/v2/${repository}`;
  }

  /**
   * Fetches the manifest that the reference names.
   * @param etag of the last response; omitted for none. @returns null if unchanged.
   * @throws RuntimeError RUNTIME_REGISTRY, RUNTIME_CREDENTIALS, RUNTIME_DIGEST
   */
  async manifest(etag?: string | null): Promise<FetchedManifest | null> {
    return this.#manifestAt(wantedOf(this.reference), etag ?? null);
  }

  /**
   * Fetches another manifest of the repository, such as that of a signature.
   * @param digest `sha256:` and 64 digits.
   */
  async manifestOf(digest: string): Promise<FetchedManifest> {
    const found = await this.#manifestAt(digest, null);
    if (found !== null) return found;
    throw registryError(this.#transport.where, `${digest}: expected a manifest, got none`);
  }

  /** Lists artifacts that refer to another one. @param digest of the latter's manifest. */
  referrers(digest: string): Promise<readonly Descriptor[]> {
    return referrersOf(this.#transport, this.#base, digest);
  }

  /**
   * Downloads content into a file that is not read yet, verifies and syncs it.
   * @param digest `sha256:` and 64 digits. @param path of the file.
   * @param options `resume` continues an earlier attempt; `size` is the expected size.
   * @returns bytes received from the registry.
   * @throws RuntimeError RUNTIME_REGISTRY, RUNTIME_CREDENTIALS, RUNTIME_DIGEST, RUNTIME_UNWRITABLE
   */
  blob(
    digest: string,
    path: string,
    { size, resume }: DownloadOptions & { readonly size?: number | undefined } = {},
  ): Promise<number> {
    const url = this.#transport.urlOf(`${this.#base}/blobs/${digest}`);
    const wanted = { sha256: digest.replace(/^sha256:/, ""), size };
    return download(this.#transport, url, wanted, path, { resume });
  }

  /**
   * Pushes an artifact, content first, under the tag of the reference or else by digest.
   * @throws RuntimeError RUNTIME_REGISTRY, RUNTIME_CREDENTIALS; RUNTIME_DIGEST, before anything is
   * sent, if the reference names another digest.
   */
  async push(artifactType: string, layers: readonly Sent[]): Promise<PushedManifest> {
    const { digest: named, tag } = this.reference;
    const bytes = manifestBytes({ artifactType, layers: layers.map((one) => one.descriptor) });
    const digest = digestOfBytes(bytes);
    if (named !== null && named !== digest) {
      throw digestError(this.#transport.where, hexOf(named), hexOf(digest));
    }
    const wasSent = await this.#pushContent(layers);
    await uploadManifest(this.#transport, this.#base, tag ?? digest, MANIFEST, bytes);
    return { digest, bytes: bytes.length, wasSent };
  }

  /**
   * Pushes an artifact that refers to another one and lists it as a referrer: through the
   * registry's API, or under a tag.
   * @returns how it is listed.
   */
  async pushReferrer(
    artifactType: string,
    layers: readonly Sent[],
    subject: Descriptor,
  ): Promise<"api" | "tag"> {
    const manifest = { artifactType, layers: layers.map((one) => one.descriptor), subject };
    const bytes = manifestBytes(manifest);
    await this.#pushContent(layers);
    const digest = digestOfBytes(bytes);
    const [transport, base] = [this.#transport, this.#base];
    const { isListed } = await uploadManifest(transport, base, digest, MANIFEST, bytes);
    if (isListed) return "api";
    const descriptor = { ...descriptorOf(MANIFEST, bytes), artifactType };
    await tagReferrer(transport, base, subject.digest, descriptor);
    return "tag";
  }

  async #pushContent(layers: readonly Sent[]): Promise<boolean[]> {
    const config = { descriptor: EMPTY_CONFIG, body: EMPTY_BYTES };
    await uploadBlob(this.#transport, this.#base, config);
    const wasSent: boolean[] = [];
    for (const layer of layers) {
      wasSent.push(await uploadBlob(this.#transport, this.#base, layer));
    }
    return wasSent;
  }

  async #manifestAt(name: string, etag: string | null): Promise<FetchedManifest | null> {
    const { where } = this.#transport;
    const url = this.#transport.urlOf(`${this.#base}/manifests/${name}`);
    const condition = etag === null ? {} : { "if-none-match": etag };
    const headers = { accept: MANIFEST, ...condition };
    return this.#transport.retrying(name, async () => {
      const answer = await this.#transport.ask({ method: "GET", url, headers });
      if (answer.status === 304 && etag !== null) {
        answer.body.drop();
        return null;
      }
      if (answer.status !== 200) return this.#transport.refuse("manifest", answer);
      const { bytes, isTooLarge } = await bodyOf(answer, MAX_MANIFEST_BYTES);
      if (isTooLarge) throw registryError(where, `expected at most ${MAX_MANIFEST_BYTES} bytes`);
      const digest = digestOfBytes(bytes);
      const named = isDigest(name) ? name : statedDigest(answer.headers);
      if (named !== null && digest !== named) {
        throw digestError(where, hexOf(named), hexOf(digest));
      }
      const manifest = readManifest(bytes, where);
      return { digest, etag: answer.headers.etag ?? null, manifest, bytes };
    });
  }
}

/** Docker Hub's API has another host name than its references. */
function serverOf(host: string): string {
  return host === "docker.io" || host === "index.docker.io" ? "registry-1.docker.io" : host;
}

function isDigest(name: string): boolean {
  return name.startsWith("sha256:");
}

function hexOf(digest: string): string {
  return digest.replace(/^sha256:/, "");
}
