/** A line to a server that can be cut: nothing passes any more, and nobody is told. */
import { once } from "node:events";
import { connect, createServer, type Server, type Socket } from "node:net";

export class CutLine {
  readonly port: number;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #isCut = false;

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

  cut(): void {
    this.#isCut = true;
  }

  /** What passed over the line that was cut is lost with its connections. */
  heal(): void {
    this.#isCut = false;
    for (const socket of this.#sockets) socket.destroy();
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
  }

  #join(client: Socket, target: number): void {
    const server = connect(target, "127.0.0.1");
    const pass = (from: Socket, to: Socket) => {
      this.#sockets.add(from);
      from.on("data", (chunk: Buffer) => {
        if (!this.#isCut) to.write(chunk);
      });
      from.on("error", () => {});
      from.on("close", () => {
        this.#sockets.delete(from);
        if (!this.#isCut) to.destroy();
      });
    };
    pass(client, server);
    pass(server, client);
  }
}
