/** The sockets of the gRPC door: how many there may be, and their end. */
import { createServer, type Server, type Socket } from "node:net";
import { RuntimeError } from "../../errors.ts";

/** As many connections may wait to be accepted; the system caps it. */
const BACKLOG = 4096;

export class Sockets {
  readonly #server: Server;
  readonly #byPeer = new Map<string, Socket>();

  /** @param inject hands a connection to what speaks HTTP/2. */
  constructor(maxConnections: number, inject: (socket: Socket) => void) {
    this.#server = createServer({ noDelay: true }, (socket) => {
      const peer = `${socket.remoteAddress}:${socket.remotePort}`;
      this.#byPeer.set(peer, socket);
      socket.once("close", () => this.#byPeer.delete(peer));
      // What is wrong with a connection is over with it.
      socket.on("error", () => socket.destroy());
      inject(socket);
    });
    this.#server.maxConnections = maxConnections;
  }

  get count(): number {
    return this.#byPeer.size;
  }

  /** @returns the address, with its port. @throws RuntimeError RUNTIME_LISTEN */
  listen(host: string, port: number): Promise<string> {
    return new Promise((resolve, reject) => {
      this.#server.once("error", (error: NodeJS.ErrnoException) => {
        const reason = error.code === "EADDRINUSE" ? "it is taken" : String(error.code ?? error);
        const message =
          `${host}:${port}: expected an address to serve at, got: ${reason}; ` +
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

  /** Accepts no more of them. */
  stop(): void {
    this.#server.close();
  }

  cutAll(): void {
    for (const socket of this.#byPeer.values()) socket.destroy();
  }
}
