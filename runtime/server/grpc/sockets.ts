/** Sockets of the gRPC listener: plain or encrypted, their limit, and their end. */
import { createServer, type Server, type Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import { RuntimeError } from "../../base/errors.ts";
import type { Access } from "../access/access.ts";
import { secureContextOf } from "../access/tls.ts";
import { Handshakes } from "../connections/handshakes.ts";
import { stopAccepting } from "../connections/stop-accepting.ts";

/** Requested backlog of connections to accept; the system may lower it. */
const BACKLOG = 4096;
/** While the listener closes: how long a client may still take to agree on keys. */
const HANDSHAKE_LINGER_MS = 1000;

export interface SocketLimits {
  readonly maxConnections: number;
  /** Time to agree on keys. */
  readonly headerTimeoutMs: number;
}

export class Sockets {
  readonly #server: Server;
  readonly #handshakes: Handshakes;
  readonly #byPeer = new Map<string, Socket>();

  /** @param inject hands a connection to what speaks HTTP/2. */
  constructor(access: Access, limits: SocketLimits, inject: (socket: Socket) => void) {
    this.#handshakes = new Handshakes(() => access.onHandshakeFailed());
    this.#server = serverOf(access, limits, this.#handshakes, (socket) => {
      const peer = `${socket.remoteAddress}:${socket.remotePort}`;
      this.#byPeer.set(peer, socket);
      socket.once("close", () => this.#byPeer.delete(peer));
      // Socket errors only end their connection.
      socket.on("error", () => socket.destroy());
      inject(socket);
    });
    this.#server.maxConnections = limits.maxConnections;
  }

  get count(): number {
    return this.#byPeer.size;
  }

  /** @returns the address, with its port. @throws RuntimeError RUNTIME_LISTEN */
  listen(host: string, port: number): Promise<string> {
    return new Promise((resolve, reject) => {
      this.#server.once("error", (error: NodeJS.ErrnoException) => {
        const reason =
          error.code === "EADDRINUSE" ? "the address is in use" : String(error.code ?? error);
        const message =
          `${host}:${port}: expected an address to listen on, got: ${reason}; ` +
          "choose another with --grpc";
        reject(new RuntimeError("RUNTIME_LISTEN", message));
      });
      this.#server.listen({ host, port, backlog: BACKLOG }, () => {
        const bound = this.#server.address();
        const boundPort = typeof bound === "object" && bound !== null ? bound.port : port;
        resolve(`${host.includes(":") ? `[${host}]` : host}:${boundPort}`);
      });
    });
  }

  /** Ends the connection of a client, by its address and port. */
  cut(peer: string): void {
    this.#byPeer.get(peer)?.destroy();
  }

  /** Accepts those that the kernel has accepted, and no more. */
  async stop(): Promise<void> {
    setTimeout(() => this.#handshakes.cut(), HANDSHAKE_LINGER_MS).unref();
    if (this.#server.listening) await stopAccepting(this.#server);
  }

  cutAll(): void {
    this.#handshakes.cut();
    for (const socket of this.#byPeer.values()) socket.destroy();
  }
}

/** Server for encrypted connections, where there is a certificate, or plain ones. */
function serverOf(
  { tls }: Access,
  { headerTimeoutMs }: SocketLimits,
  handshakes: Handshakes,
  open: (socket: Socket) => void,
): Server {
  if (tls === undefined) return createServer({ noDelay: true }, open);
  const isMutual = tls.value.ca !== undefined;
  const server = createTlsServer({
    ...secureContextOf(tls.value),
    ALPNProtocols: ["h2"],
    noDelay: true,
    requestCert: isMutual,
    rejectUnauthorized: isMutual,
    handshakeTimeout: headerTimeoutMs,
  });
  // Connections that are open keep what they have agreed on.
  tls.onChange((pair) => server.setSecureContext(secureContextOf(pair)));
  server.on("connection", (socket: Socket) => {
    socket.on("error", () => socket.destroy());
    handshakes.begin(socket);
  });
  server.on("secureConnection", (socket) => {
    handshakes.onDone(socket);
    open(socket);
  });
  server.on("tlsClientError", (_error: Error, socket: Socket) => {
    handshakes.onFailed(socket);
    socket.destroy();
  });
  return server;
}
