/** A server that stops at a chosen stage of an HTTP exchange, or never comes to its end. */
import { once } from "node:events";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";

type Stage = (socket: Socket, path: string) => void;

const OK = "HTTP/1.1 200 OK\r\n";
const EVERY_MS = 10;

function compressed(encoding: string, content: Uint8Array): Stage {
  const head = `${OK}content-encoding: ${encoding}\r\ncontent-length: ${content.length}\r\n\r\n`;
  return (socket) => void socket.write(Buffer.concat([Buffer.from(head), content]));
}

/** Sends a text again and again, slowly, until the client leaves. */
function repeated(start: string, text: string): Stage {
  return (socket) => {
    socket.write(start);
    const timer = setInterval(() => socket.write(text), EVERY_MS);
    socket.once("close", () => clearInterval(timer));
  };
}

/** Sends chunks as fast as the client takes them, without an end. */
function flood(socket: Socket): void {
  const chunk = Buffer.from(`10000\r\n${"x".repeat(2 ** 16)}\r\n`);
  const more = () => {
    while (!socket.destroyed && socket.write(chunk));
  };
  socket.on("drain", more).write(`${OK}transfer-encoding: chunked\r\n\r\n`);
  more();
}

const TEXT = Buffer.from("this is not what its header says");
const ZEROS = Buffer.alloc(2 ** 24);
const HALF = gzipSync(TEXT).subarray(0, 20);

/** What the server does once it has the head of a request. */
export const STAGES: Readonly<Record<string, Stage>> = {
  silent: () => {},
  "closes at once": (socket) => void socket.destroy(),
  "half a status line": (socket) => void socket.write("HTTP/1.1 20"),
  "half a header": (socket) => void socket.write(`${OK}content-le`),
  "headers without end": repeated(`${OK}x-more: `, "x"),
  "headers only": (socket) => void socket.write(`${OK}content-length: 100\r\n\r\n`),
  "half a body": (socket) => void socket.write(`${OK}content-length: 100\r\n\r\n{"half":`),
  "a trickling body": repeated(`${OK}content-length: 1000000\r\n\r\n`, " "),
  "a trickling 404": repeated("HTTP/1.1 404 No\r\ncontent-length: 1000000\r\n\r\n", " "),
  "a trickling 503": repeated("HTTP/1.1 503 No\r\ncontent-length: 1000000\r\n\r\n", " "),
  "chunks without end": repeated(`${OK}transfer-encoding: chunked\r\n\r\n`, "1\r\n \r\n"),
  "a flood of chunks": flood,
  "gzip that is none": compressed("gzip", TEXT),
  "br that is none": compressed("br", TEXT),
  "deflate that is none": compressed("deflate", TEXT),
  "gzip that ends early": compressed("gzip", HALF),
  "a gzip bomb": compressed("gzip", gzipSync(ZEROS)),
  "a br bomb": compressed(
    "br",
    brotliCompressSync(ZEROS, { params: { [constants.BROTLI_PARAM_QUALITY]: 2 } }),
  ),
  "100 only": (socket) => void socket.write("HTTP/1.1 100 Continue\r\n\r\n"),
  "102 without end": repeated("", "HTTP/1.1 102 Processing\r\n\r\n"),
  "a redirect to itself": (socket, path) => {
    socket.write(`HTTP/1.1 302 Found\r\nlocation: ${path}\r\ncontent-length: 0\r\n\r\n`);
  },
  "a trickling redirect": (socket, path) => {
    const head = `HTTP/1.1 302 Found\r\nlocation: ${path}\r\ncontent-length: 1000000\r\n\r\n`;
    repeated(head, " ")(socket, path);
  },
};

/** First half of a TLS record of a server's handshake. */
const HALF_RECORD = Buffer.from([22, 3, 3, 0, 122, 2, 0, 0, 118, 3, 3]);

/** Answers a TLS handshake by half a record. */
export const HALF_HANDSHAKE = "half a TLS handshake";

export class StallingServer {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #isTls: boolean;
  /** Heads of the requests. */
  readonly heads: string[] = [];

  private constructor(server: Server, isTls: boolean) {
    this.#server = server;
    this.#isTls = isTls;
  }

  /** @param tls certificate and key, for HTTPS. */
  static async open(
    stage: string,
    tls?: { readonly cert: Buffer; readonly key: Buffer },
  ): Promise<StallingServer> {
    const isHalf = stage === HALF_HANDSHAKE;
    const server = tls === undefined || isHalf ? createServer() : createTlsServer(tls);
    const stalling = new StallingServer(server, tls !== undefined || isHalf);
    server.on(tls === undefined || isHalf ? "connection" : "secureConnection", (socket: Socket) =>
      stalling.#serve(socket, stage),
    );
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return stalling;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get url(): string {
    return `${this.#isTls ? "https" : "http"}://127.0.0.1:${this.port}`;
  }

  close(): void {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  #serve(socket: Socket, stage: string): void {
    this.#sockets.add(socket);
    socket.on("error", () => {}).once("close", () => this.#sockets.delete(socket));
    if (stage === HALF_HANDSHAKE) {
      socket.once("data", () => socket.write(HALF_RECORD));
      return;
    }
    let head = "";
    socket.on("data", (bytes) => {
      head += bytes.toString("latin1");
      const end = head.indexOf("\r\n\r\n");
      if (end < 0) return;
      this.heads.push(head.slice(0, end));
      const path = head.split(" ")[1] ?? "/";
      // A body may be in the same bytes, or follow.
      head = "";
      STAGES[stage]?.(socket, path);
    });
  }
}
