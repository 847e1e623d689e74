/** A repository of a registry: what a reference names, its content, and what is pushed to it. */
import { Authorizer } from "./authorizer.ts";
import { credentialsFor, type RegistryAuth } from "./credentials.ts";
import { type DownloadOptions, download } from "./download.ts";
import { bodyOf } from "./http-client.ts";
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
import { type Sent, toldDigest, uploadBlob, uploadManifest } from "./upload.ts";

export interface RegistryOptions {
  /** Who we are; left out, whoever the usual files say, and nothing of variables. */
  readonly auth?: RegistryAuth | undefined;
  /** Aborting it ends whatever is under way, with its reason. */
  readonly signal?: AbortSignal | undefined;
  /** Of the first pause before something is tried again; left out, a quarter of a second. */
  readonly retryMs?: number | undefined;
  /** Whether it is to be pushed to; left out, it is not. */
  readonly isPushed?: boolean | undefined;
}

/** A manifest as the registry has it. */
export interface FetchedManifest {
  /** Of its bytes: `sha256:` and 64 digits. */
  readonly digest: string;
  /** For the next question; null where the registry gives none. */
  readonly etag: string | null;
  readonly manifest: Manifest;
  readonly bytes: Buffer;
}

/** What has been pushed. */
interface PushedManifest {
  readonly digest: string;
  /** Of the manifest itself. */
  readonly bytes: number;
  /** Of the layers, in their order, whether each was sent; the others were there. */
  readonly wasSent: readonly boolean[];
}

const RETRY_MS = 250;

/**
 * Opens what a reference names; nothing is asked before something is wanted.
 * @throws RuntimeError RUNTIME_USAGE if it is no reference.
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
    { auth = {}, signal, retryMs = RETRY_MS, isPushed = false }: RegistryOptions,
  ) {
    const { protocol, host, repository } = reference;
    const where = formatReference(reference);
    const origin = new URL(`${protocol}//${serverOf(host)}`);
    const authorizer = new Authorizer({
      ...{ where, protocol, signal },
      scope: `repository:${repository}:${isPushed ? "pull,push" : "pull"}`,
      credentials: () => credentialsFor(reference, auth),
    });
    this.reference = reference;
    this.#transport = new Transport({ where, origin, authorizer, signal, retryMs });
    this.#base = `/v2/${repository}`;
  }

  /**
   * What the reference names now.
   * @param etag that of the last answer; left out for none. @returns null where it still holds.
   * @throws RuntimeError RUNTIME_REGISTRY, RUNTIME_CREDENTIALS, RUNTIME_DIGEST
   */
  async manifest(etag?: string | null): Promise<FetchedManifest | null> {
    return this.#manifestAt(wantedOf(this.reference), etag ?? null);
  }

  /**
   * The same of another manifest of the repository, such as that of a signature.
   * @param digest `sha256:` and 64 digits.
   */
  async manifestOf(digest: string): Promise<FetchedManifest> {
    const found = await this.#manifestAt(digest, null);
    if (found !== null) return found;
    throw registryError(this.#transport.where, `${digest}: expected a manifest, got none`);
  }

  /** Artifacts that are about one of the repository. @param digest of its manifest. */
  referrers(digest: string): Promise<readonly Descriptor[]> {
    return referrersOf(this.#transport, this.#base, digest);
  }

  /**
   * Brings content into a file that nobody reads yet; it is what its digest says, and on the disk.
   * @param digest `sha256:` and 64 digits. @param path of the file.
   * @param options `resume` keeps what an earlier try left; `size` is what it has to have.
   * @returns bytes that came from the registry.
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
   * Pushes an artifact, its content first, under the tag of the reference, or else by its digest.
   * @throws RuntimeError RUNTIME_REGISTRY, RUNTIME_CREDENTIALS; RUNTIME_DIGEST where the reference
   * names another digest, before anything is sent.
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
   * Pushes an artifact that is about another one, and lists it there: by the registry itself, or
   * by the tag that stands for a list.
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
        answer.body.resume();
        return null;
      }
      if (answer.status !== 200) return this.#transport.refuse("its manifest", answer);
      const { bytes, isTooLarge } = await bodyOf(answer, MAX_MANIFEST_BYTES);
      if (isTooLarge) throw registryError(where, `expected at most ${MAX_MANIFEST_BYTES} bytes`);
      const digest = digestOfBytes(bytes);
      const named = isDigest(name) ? name : toldDigest(answer.headers);
      if (named !== null && digest !== named) {
        throw digestError(where, hexOf(named), hexOf(digest));
      }
      const manifest = readManifest(bytes, where);
      return { digest, etag: answer.headers.etag ?? null, manifest, bytes };
    });
  }
}

/** Docker's own registry answers under another name than references have. */
function serverOf(host: string): string {
  return host === "docker.io" || host === "index.docker.io" ? "registry-1.docker.io" : host;
}

function isDigest(name: string): boolean {
  return name.startsWith("sha256:");
}

function hexOf(digest: string): string {
  return digest.replace(/^sha256:/, "");
}
