/** HTTP to an Open Inference Protocol v2 server, over connections that are kept. */

import { RuntimeError } from "stratagem-runtime/internal/base/errors";
import { Client, type Dispatcher } from "undici";

export interface HttpReply {
  readonly status: number;
  readonly headers: Dispatcher.ResponseData["headers"];
  readonly body: Buffer;
}

interface ClientOptions {
  /** Such as http://127.0.0.1:8000, with or without a path in front of /v2. */
  readonly url: string;
  /** A request on which nothing happens for this long fails. */
  readonly timeoutMs: number;
}

/** A reply larger than this fails its request. */
const MAX_REPLY_BYTES = 64 << 20;

export class InferenceClient {
  readonly #origin: string;
  readonly #pathPrefix: string;
  readonly #options: Client.Options;
  readonly #connections = new Set<Client>();
  /** The one used last is on top: few connections are kept warm instead of all of them in turn. */
  readonly #idle: Client[] = [];

  /** @throws RuntimeError for a URL that is none. */
  constructor({ url, timeoutMs }: ClientOptions) {
    const { origin, pathname } = parseUrl(url);
    this.#origin = origin;
    this.#pathPrefix = pathname.replace(/\/$/, "");
    this.#options = {
      headersTimeout: timeoutMs,
      bodyTimeout: timeoutMs,
      connect: { timeout: timeoutMs },
      maxResponseSize: MAX_REPLY_BYTES,
    };
  }

  /** Drops every connection; requests under way are rejected. */
  async close(): Promise<void> {
    await Promise.all(Array.from(this.#connections, (connection) => connection.destroy()));
  }

  /**
   * Sends a request at once, over a connection that no other is using.
   * @param path below the URL, such as /v2.
   * @param body none for GET.
   * @throws Error whose code `failureCode` tells.
   */
  async send(
    path: string,
    body: Uint8Array | null,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<HttpReply> {
    const connection = this.#idle.pop() ?? this.#connect();
    try {
      const reply = await connection.request({
        path: this.#pathPrefix + path,
        method: body === null ? "GET" : "POST",
        headers,
        body,
      });
      const bytes = await reply.body.arrayBuffer();
      return { status: reply.statusCode, headers: reply.headers, body: Buffer.from(bytes) };
    } finally {
      this.#idle.push(connection);
    }
  }

  #connect(): Client {
    const connection = new Client(this.#origin, this.#options);
    this.#connections.add(connection);
    return connection;
  }
}

/** The system's names for what the HTTP library has names of its own. */
const SYSTEM_CODES: Readonly<Record<string, string>> = {
  UND_ERR_SOCKET: "ECONNRESET",
  UND_ERR_CONNECT_TIMEOUT: "ETIMEDOUT",
  UND_ERR_HEADERS_TIMEOUT: "ETIMEDOUT",
  UND_ERR_BODY_TIMEOUT: "ETIMEDOUT",
  UND_ERR_RES_EXCEEDED_MAX_SIZE: "EMSGSIZE",
};

/** Code of a failed request, such as ECONNRESET. */
export function failureCode(error: unknown): string {
  const code = error instanceof Error && "code" in error ? String(error.code) : String(error);
  return SYSTEM_CODES[code] ?? code;
}

function parseUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url?.protocol === "http:") return url;
  throw new RuntimeError(
    "RUNTIME_USAGE",
    `expected a URL such as http://127.0.0.1:8000, got ${JSON.stringify(text)}`,
  );
}
