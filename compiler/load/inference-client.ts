/** HTTP client of an Open Inference Protocol v2 server with persistent connections. */

import { RuntimeError } from "stratagem-runtime/internal/base/errors";
import { Client, type Dispatcher } from "undici";

export interface HttpReply {
  readonly status: number;
  readonly headers: Dispatcher.ResponseData["headers"];
  readonly body: Buffer;
}

interface ClientOptions {
  /** For example http://127.0.0.1:8000, with or without a path before /v2. */
  readonly url: string;
  /** Limit of a request, from its connection to the last byte of its reply. */
  readonly timeoutMs: number;
}

/** Larger replies fail. */
const MAX_REPLY_BYTES = 64 << 20;

export class InferenceClient {
  readonly #origin: string;
  readonly #pathPrefix: string;
  readonly #options: Client.Options;
  readonly #timeoutMs: number;
  readonly #connections = new Set<Client>();
  /** Stack with the most recently used on top, so that few connections stay warm. */
  readonly #idle: Client[] = [];

  /** @throws RuntimeError for an invalid URL. */
  constructor({ url, timeoutMs }: ClientOptions) {
    const { origin, pathname } = parseUrl(url);
    this.#origin = origin;
    this.#pathPrefix = pathname.replace(/\/$/, "");
    this.#timeoutMs = timeoutMs;
    this.#options = {
      headersTimeout: 0,
      bodyTimeout: 0,
      connect: { timeout: timeoutMs },
      maxResponseSize: MAX_REPLY_BYTES,
    };
  }

  /** Closes every connection; pending requests are rejected. */
  async close(): Promise<void> {
    await Promise.all(Array.from(this.#connections, (connection) => connection.destroy()));
  }

  /**
   * Sends a request at once, on an unused connection.
   * @param path below the URL, such as /v2.
   * @param body null for GET.
   * @throws Error with a code for `failureCode`.
   */
  async send(
    path: string,
    body: Uint8Array | null,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<HttpReply> {
    const connection = this.#idle.pop() ?? this.#connect();
    const timer = setTimeout(() => {
      this.#connections.delete(connection);
      const late = new Error(`no reply within ${this.#timeoutMs} ms`);
      void connection.destroy(Object.assign(late, { code: "ETIMEDOUT" }));
    }, this.#timeoutMs);
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
      clearTimeout(timer);
      if (!connection.destroyed) this.#idle.push(connection);
    }
  }

  #connect(): Client {
    const connection = new Client(this.#origin, this.#options);
    this.#connections.add(connection);
    return connection;
  }
}

/** System error codes for the HTTP library's own. */
const SYSTEM_CODES: Readonly<Record<string, string>> = {
  UND_ERR_SOCKET: "ECONNRESET",
  UND_ERR_CONNECT_TIMEOUT: "ETIMEDOUT",
  UND_ERR_RES_EXCEEDED_MAX_SIZE: "EMSGSIZE",
};

/** Returns the code of a failed request, such as ECONNRESET. */
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
