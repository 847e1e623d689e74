/**
 * A registry in memory: what the distribution specification asks of one, whom it lets in, and a
 * place for what goes wrong on the way to it. The real one is in test/system/registry.test.ts.
 */
import { createHash, randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface SmallRegistryOptions {
  /** Whether it lists what is about an artifact; left out, it does not. */
  readonly hasReferrers?: boolean;
  /** Whom it lets in by name and password; left out, everybody. */
  readonly account?: { readonly username: string; readonly password: string };
  /** Whether it wants tokens, of its own `/token`, which asks for the account if there is one. */
  readonly wantsTokens?: boolean;
}

interface Kept {
  readonly bytes: Buffer;
  readonly type: string;
}

export interface SeenRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
}

/** Answers a request in the registry's place; returns whether it has. */
export type Intercept = (request: IncomingMessage, response: ServerResponse) => boolean;

export class SmallRegistry {
  readonly #server: Server;
  readonly #options: SmallRegistryOptions;
  readonly blobs = new Map<string, Buffer>();
  /** By tag and by digest. */
  readonly manifests = new Map<string, Kept>();
  readonly seen: SeenRequest[] = [];
  /** What each of the tokens that it takes is for. */
  readonly tokens = new Map<string, string>();
  intercept: Intercept = () => false;
  #uploads = 0;

  private constructor(server: Server, options: SmallRegistryOptions) {
    this.#server = server;
    this.#options = options;
  }

  static async start(options: SmallRegistryOptions = {}): Promise<SmallRegistry> {
    const server = createServer();
    const registry = new SmallRegistry(server, options);
    server.on("request", (request, response) => void registry.#answer(request, response));
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return registry;
  }

  /** Host and port. */
  get host(): string {
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }

  /** What was asked of it since it was last asked this, as `GET /v2/…`. */
  asked(): string[] {
    return this.seen.splice(0).map(({ method, path }) => `${method} ${path}`);
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = "", url = "", headers } = request;
    this.seen.push({ method, path: url, headers });
    if (this.intercept(request, response)) return;
    const body = await bytesOf(request);
    const { pathname: path, searchParams: query } = new URL(url, "http://registry");
    if (path === "/token") return this.#giveToken(headers.authorization, body, query, response);
    if (!this.#letsIn(method, headers.authorization)) return this.#ask(method, path, response);
    const [, repository, kind, name = ""] =
      /^\/v2\/(.+?)\/(manifests|blobs\/uploads|blobs|referrers)\/(.*)$/.exec(path) ?? [];
    if (kind === "blobs/uploads") return this.#upload(method, path, query, body, response);
    if (kind === "blobs") return this.#blob(method, name, headers.range, response);
    if (kind === "manifests") return this.#manifest(method, name, headers, body, response);
    if (kind === "referrers" && this.#options.hasReferrers === true) {
      return this.#referrers(name, response);
    }
    say(response, 404, { "x-repository": repository ?? "" });
    return;
  }

  #letsIn(method: string, authorization: string | undefined): boolean {
    const { account, wantsTokens = false } = this.#options;
    if (wantsTokens) {
      const actions = this.tokens.get(authorization?.replace(/^Bearer /, "") ?? "") ?? "";
      return actions.endsWith(",push") || (isReading(method) && actions.endsWith(":pull"));
    }
    return account === undefined || authorization === basicOf(account);
  }

  #ask(method: string, path: string, response: ServerResponse): void {
    const [, repository = ""] = /^\/v2\/(.+?)\/(?:manifests|blobs|referrers)\//.exec(path) ?? [];
    const actions = isReading(method) ? "pull" : "pull,push";
    const scope = `repository:${repository}:${actions}`;
    const realm = `http://${this.host}/token`;
    const bearer = `Bearer realm="${realm}",service="small",scope="${scope}"`;
    const isBasic = this.#options.wantsTokens !== true;
    say(response, 401, { "www-authenticate": isBasic ? 'Basic realm="small"' : bearer });
  }

  #giveToken(
    authorization: string | undefined,
    body: Buffer,
    query: URLSearchParams,
    response: ServerResponse,
  ): void {
    const { account } = this.#options;
    const form = new URLSearchParams(body.toString());
    const isKnown =
      account === undefined ||
      authorization === basicOf(account) ||
      form.get("refresh_token") === account.password;
    if (!isKnown) {
      say(response, 401, {});
      return;
    }
    const token = `token-${randomUUID()}`;
    this.tokens.set(token, query.get("scope") ?? form.get("scope") ?? "");
    response.end(JSON.stringify({ token, expires_in: 300 }));
  }

  #upload(
    method: string,
    path: string,
    query: URLSearchParams,
    body: Buffer,
    response: ServerResponse,
  ): void {
    if (method === "POST") {
      this.#uploads++;
      // The place is relative, and has something to say already, as that of docker-registry.
      say(response, 202, { location: `${path}${this.#uploads}?_state=a%3D%3D` });
      return;
    }
    const digest = digestOf(body);
    if (query.get("digest") !== digest || query.get("_state") !== "a==") {
      say(response, 400, {}, "DIGEST_INVALID");
      return;
    }
    this.blobs.set(digest, body);
    say(response, 201, { "docker-content-digest": digest });
  }

  #blob(method: string, digest: string, range: string | undefined, response: ServerResponse): void {
    const bytes = this.blobs.get(digest);
    if (bytes === undefined) {
      say(response, 404, {}, "BLOB_UNKNOWN");
      return;
    }
    const from = Number(/^bytes=(\d+)-$/.exec(range ?? "")?.[1] ?? Number.NaN);
    if (from >= bytes.length) {
      say(response, 416, {});
      return;
    }
    const isPart = from >= 0;
    const part = isPart ? bytes.subarray(from) : bytes;
    const told = `bytes ${from}-${bytes.length - 1}/${bytes.length}`;
    response.writeHead(isPart ? 206 : 200, {
      "content-length": part.length,
      ...(isPart ? { "content-range": told } : {}),
    });
    response.end(method === "HEAD" ? undefined : part);
  }

  #manifest(
    method: string,
    name: string,
    headers: IncomingMessage["headers"],
    bytes: Buffer,
    response: ServerResponse,
  ): void {
    if (method === "PUT") {
      const kept = { bytes, type: headers["content-type"] ?? "" };
      const digest = digestOf(bytes);
      const missing = this.#missing(bytes);
      if (missing !== undefined) {
        say(response, 400, {}, `BLOB_UNKNOWN ${missing}`);
        return;
      }
      this.manifests.set(name, kept).set(digest, kept);
      const { subject } = JSON.parse(bytes.toString());
      const isListed = subject !== undefined && this.#options.hasReferrers === true;
      const about = isListed ? { "oci-subject": subject.digest } : {};
      say(response, 201, { "docker-content-digest": digest, ...about });
      return;
    }
    const found = this.manifests.get(name);
    if (found === undefined) {
      say(response, 404, {}, "MANIFEST_UNKNOWN");
      return;
    }
    const etag = `"${digestOf(found.bytes)}"`;
    if (headers["if-none-match"] === etag) {
      say(response, 304, { etag });
      return;
    }
    const digest = digestOf(found.bytes);
    response.writeHead(200, {
      etag,
      "content-type": found.type,
      "docker-content-digest": digest,
    });
    response.end(found.bytes);
  }

  #referrers(digest: string, response: ServerResponse): void {
    const all = [...this.manifests].filter(([name]) => name.startsWith("sha256:"));
    const manifests = all.flatMap(([name, { bytes, type }]) => {
      const { subject, artifactType } = JSON.parse(bytes.toString());
      if (subject?.digest !== digest) return [];
      return [{ mediaType: type, digest: name, size: bytes.length, artifactType }];
    });
    response.end(JSON.stringify({ schemaVersion: 2, manifests }));
  }

  /** A layer that it does not have; a manifest must not name one. */
  #missing(manifest: Buffer): string | undefined {
    const { layers = [], config } = JSON.parse(manifest.toString());
    const named: { digest: string }[] = config === undefined ? layers : [config, ...layers];
    return named.find(({ digest }) => !this.blobs.has(digest))?.digest;
  }
}

function isReading(method: string): boolean {
  return method === "GET" || method === "HEAD";
}

export function digestOf(bytes: Uint8Array): string {
  return `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
}

function basicOf({ username, password }: { username: string; password: string }): string {
  return `Basic ${Buffer.from(`${username}:${password}`).toString("base64")}`;
}

function say(
  response: ServerResponse,
  status: number,
  headers: Readonly<Record<string, string>>,
  code?: string,
): void {
  response.writeHead(status, headers);
  const errors = [{ code, message: "as it says" }];
  response.end(code === undefined ? undefined : JSON.stringify({ errors }));
}

async function bytesOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks);
}
