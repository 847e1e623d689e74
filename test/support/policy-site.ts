/** A web server of files in memory, with tags of versions and ranges, that may fail as told. */
import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface SeenRequest {
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}

export class PolicySite {
  readonly files = new Map<string, Uint8Array>();
  readonly seen: SeenRequest[] = [];
  /** Answers requests in its own way; false where it leaves one to the site. */
  onRequest: (request: IncomingMessage, response: ServerResponse) => boolean = () => false;
  hasTags = true;
  hasRanges = true;
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((request, response) => void this.#answer(request, response));
  }

  static async open(): Promise<PolicySite> {
    const site = new PolicySite();
    await site.listen(0);
    return site;
  }

  /** Comes back at the same port after `leave`. */
  async listen(port: number): Promise<void> {
    this.#server.listen(port, "127.0.0.1");
    await once(this.#server, "listening");
  }

  /** @returns its port. */
  async leave(): Promise<number> {
    const { port } = this.#server.address() as AddressInfo;
    const closed = once(this.#server, "close");
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
    return port;
  }

  get url(): string {
    const { port } = this.#server.address() as AddressInfo;
    return `http://127.0.0.1:${port}`;
  }

  put(path: string, content: Uint8Array | string | object): void {
    const isBytes = content instanceof Uint8Array;
    const text = typeof content === "string" ? content : JSON.stringify(content);
    this.files.set(path, isBytes ? content : Buffer.from(text));
  }

  /** What was asked for and how that ended, such as `GET /a 304`. */
  get log(): string[] {
    return this.seen.map(({ method, path, status }) => `${method} ${path} ${status}`);
  }

  async close(): Promise<void> {
    if (this.#server.listening) await this.leave();
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = "", url = "", headers } = request;
    const [path = ""] = url.split("?");
    let body = "";
    for await (const chunk of request) body += String(chunk);
    response.on("close", () => {
      this.seen.push({ method, path, status: response.statusCode, headers, body });
    });
    if (this.onRequest(request, response)) return;
    const content = this.files.get(path);
    if (method === "POST") {
      response.writeHead(204).end();
      return;
    }
    if (content === undefined) {
      response.writeHead(404).end("nothing");
      return;
    }
    const tag = `"${createHash("sha256").update(content).digest("hex").slice(0, 16)}"`;
    if (this.hasTags) response.setHeader("etag", tag);
    if (this.hasTags && headers["if-none-match"] === tag) {
      response.writeHead(304).end();
      return;
    }
    const from = Number(/^bytes=(\d+)-$/.exec(headers.range ?? "")?.[1] ?? Number.NaN);
    if (!this.hasRanges || Number.isNaN(from)) {
      response.writeHead(200).end(content);
      return;
    }
    if (from >= content.length) {
      response.writeHead(416).end();
      return;
    }
    const range = `bytes ${from}-${content.length - 1}/${content.length}`;
    response.writeHead(206, { "content-range": range }).end(content.subarray(from));
  }
}
