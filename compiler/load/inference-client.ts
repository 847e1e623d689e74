/** HTTP to an Open Inference Protocol v2 server, over connections that are kept. */
import { Agent, type IncomingHttpHeaders, type OutgoingHttpHeaders, request } from "node:http";
import { RuntimeError } from "../../runtime/errors.ts";

export interface HttpReply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

export interface ClientOptions {
  /** Such as http://127.0.0.1:8000, with or without a path in front of /v2. */
  readonly url: string;
  /** Most connections at a time. */
  readonly maxSockets: number;
  /** A connection on which nothing happens for this long fails its request. */
  readonly timeoutMs: number;
}

/** A reply larger than this fails its request. */
const MAX_REPLY_BYTES = 64 << 20;

export class InferenceClient {
  readonly #base: URL;
  readonly #agent: Agent;
  readonly #timeoutMs: number;

  /** @throws RuntimeError for a URL that is none. */
  constructor({ url, maxSockets, timeoutMs }: ClientOptions) {
    this.#base = parseUrl(url);
    this.#timeoutMs = timeoutMs;
    // LIFO keeps few connections warm instead of cooling all of them in turn.
    this.#agent = new Agent({ keepAlive: true, maxSockets, scheduling: "lifo", noDelay: true });
  }

  /** Drops every connection; requests under way are rejected. */
  close(): void {
    this.#agent.destroy();
  }

  /** @param path below the URL, such as /v2. @param parts of the body in order; none for GET. @throws Error with the code of the failed connection. */
  send(
    path: string,
    parts: readonly Uint8Array[],
    headers: OutgoingHttpHeaders = {},
  ): Promise<HttpReply> {
    const length = parts.reduce((sum, part) => sum + part.length, 0);
    const { promise, resolve, reject } = deferred<HttpReply>();
    const outgoing = request({
      agent: this.#agent,
      host: this.#base.hostname.replace(/^\[|\]$/g, ""),
      port: this.#base.port === "" ? 80 : Number(this.#base.port),
      path: `${this.#base.pathname.replace(/\/$/, "")}${path}`,
      method: parts.length === 0 ? "GET" : "POST",
      headers: parts.length === 0 ? headers : { ...headers, "content-length": length },
      timeout: this.#timeoutMs,
    });
    outgoing.on("error", reject);
    outgoing.on("timeout", () => outgoing.destroy(failure("ETIMEDOUT")));
    outgoing.on("response", (incoming) => {
      const chunks: Buffer[] = [];
      let size = 0;
      incoming.on("data", (chunk: Buffer) => {
        size += chunk.length;
        chunks.push(chunk);
        if (size > MAX_REPLY_BYTES) incoming.destroy(failure("EMSGSIZE"));
      });
      incoming.on("error", reject);
      incoming.on("end", () => {
        const { statusCode = 0, headers } = incoming;
        resolve({ status: statusCode, headers, body: Buffer.concat(chunks, size) });
      });
    });
    for (const part of parts) outgoing.write(part);
    outgoing.end();
    return promise;
  }
}

/** Code of a failed connection, such as ECONNRESET. */
export function failureCode(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : String(error);
}

function failure(code: string): Error {
  return Object.assign(new Error(code), { code });
}

function parseUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url?.protocol === "http:") return url;
  throw new RuntimeError(
    "RUNTIME_USAGE",
    `expected a URL such as http://127.0.0.1:8000, got ${JSON.stringify(text)}`,
  );
}

interface Deferred<T> {
  readonly promise: Promise<T>;
  readonly resolve: (value: T) => void;
  readonly reject: (reason: unknown) => void;
}

function deferred<T>(): Deferred<T> {
  let resolve: (value: T) => void = () => {};
  let reject: (reason: unknown) => void = () => {};
  const promise = new Promise<T>((onValue, onReason) => {
    resolve = onValue;
    reject = onReason;
  });
  return { promise, resolve, reject };
}
