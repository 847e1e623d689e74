/** Sockets of the gRPC listener: plain or encrypted, their limit, and their end. */
import { createServer, type Server, type Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import type { Access } from "../access/access.ts";
import { secureContextOf } from "../access/tls.ts";
import { type Connections, SURPLUS_CONNECTIONS } from "../connections/connections.ts";
import { SURPLUS_DESCRIPTORS, tooManyText } from "../connections/descriptors.ts";
import { Handshakes } from "../connections/handshakes.ts";
import { HttpError, RETRY_LATER } from "../connections/http-error.ts";
import { listen } from "../connections/listen.ts";
import { stopAccepting } from "../connections/stop-accepting.ts";

/** While the listener closes: how long a client may still take to agree on keys. */
const HANDSHAKE_LINGER_MS = 1000;

export interface SocketLimits {
  readonly maxConnections: number;
  /** Time to agree on keys. */
  readonly headerTimeoutMs: number;
  /** How long a connection that is too many stays open, for the answers to its calls. */
  readonly lingerMs: number;
}

type Surplus = Pick<Connections, "cut" | "descriptors" | "onSurplus">;

export class Sockets {
  readonly #server: Server;
  readonly #handshakes: Handshakes;
  readonly #connections: Surplus;
  readonly #byPeer = new Map<string, Socket>();
  /** Connections that are too many, and the answer to their calls. */
  readonly #surplus = new Map<string, HttpError>();

  /**
   * @param connections those of HTTP, which count and limit all.
   * @param inject hands a connection to what speaks HTTP/2.
   */
  constructor(
    access: Access,
    limits: SocketLimits,
    connections: Surplus,
    inject: (socket: Socket) => void,
  ) {
    this.#connections = connections;
    this.#handshakes = new Handshakes(() => access.onHandshakeFailed());
    this.#server = serverOf(access, limits, connections, this.#handshakes, (socket) => {
      // Socket errors only end their connection.
      socket.on("error", () => socket.destroy());
      const peer = `${socket.remoteAddress}:${socket.remotePort}`;
      const room = connections.descriptors.roomFor(socket);
      const isFull = this.#byPeer.size - this.#surplus.size >= limits.maxConnections;
      if (isFull || room !== "free") {
        if (connections.cut(socket)) return;
        connections.onSurplus(room);
        if (this.#surplus.size >= SURPLUS_DESCRIPTORS) {
          socket.destroy();
          return;
        }
        const reason = tooManyText(room, limits.maxConnections);
        this.#surplus.set(peer, new HttpError(503, reason, RETRY_LATER));
        setTimeout(() => socket.destroy(), limits.lingerMs).unref();
      }
      this.#byPeer.set(peer, socket);
      socket.once("close", () => {
        this.#byPeer.delete(peer);
        this.#surplus.delete(peer);
      });
      inject(socket);
    });
    this.#server.maxConnections = limits.maxConnections + SURPLUS_CONNECTIONS;
  }

  /** Answer to the calls of a connection that is too many, undefined for others. */
  surplusAt(peer: string): HttpError | undefined {
    return this.#surplus.size === 0 ? undefined : this.#surplus.get(peer);
  }

  get count(): number {
    return this.#byPeer.size;
  }

  /** @returns the address, with its port. @throws RuntimeError RUNTIME_LISTEN */
  async listen(host: string, port: number): Promise<string> {
    const bound = await listen(this.#server, { host, port, flag: "--grpc" }, this.#connections);
    return `${host.includes(":") ? `[${host}]` : host}:${bound}`;
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
  connections: Surplus,
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
    if (!connections.cut(socket)) handshakes.begin(socket);
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
