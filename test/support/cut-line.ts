/** A TCP line to a server that can be cut, halved or slowed without a sign to its ends. */
import { once } from "node:events";
import { connect, createServer, type Server, type Socket } from "node:net";

/** From the client, to it, or both. */
export type Way = "up" | "down" | "both";

export class CutLine {
  readonly port: number;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  /** Ends at the server. */
  readonly #far = new Set<Socket>();
  #cut: Way | null = null;
  #delayMs = 0;

  private constructor(server: Server, port: number) {
    this.#server = server;
    this.port = port;
  }

  static async to(target: number): Promise<CutLine> {
    const server = createServer();
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const address = server.address();
    if (address === null || typeof address === "string") throw new Error("expected a port");
    const line = new CutLine(server, address.port);
    server.on("connection", (client) => line.#join(client, target));
    return line;
  }

  cut(way: Way = "both"): void {
    this.#cut = way;
  }

  /** Closes the ends at the server; the clients believe that theirs are open. */
  halve(): void {
    this.#cut = "both";
    for (const socket of this.#far) socket.destroy();
  }

  /** Passes everything on so much later, either way. */
  slow(ms: number): void {
    this.#delayMs = ms;
  }

  /** What passed over the line that was cut is lost with its connections. */
  heal(): void {
    this.#cut = null;
    this.#delayMs = 0;
    for (const socket of this.#sockets) socket.destroy();
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
  }

  #join(client: Socket, target: number): void {
    const server = connect(target, "127.0.0.1");
    this.#far.add(server);
    this.#pass(client, server, "up");
    this.#pass(server, client, "down");
  }

  #pass(from: Socket, to: Socket, way: Way): void {
    const isCut = () => this.#cut === "both" || this.#cut === way;
    this.#sockets.add(from);
    from.on("data", (chunk: Buffer) => {
      if (isCut()) return;
      if (this.#delayMs === 0) to.write(chunk);
      else setTimeout(() => to.write(chunk), this.#delayMs);
    });
    from.on("error", () => {});
    from.on("close", () => {
      this.#sockets.delete(from);
      this.#far.delete(from);
      if (!isCut()) to.destroy();
    });
  }
}
