/** A line to a server that dies, or stands still, after so many bytes. */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";

export interface LineFaults {
  /** Lines that die, each after `lineBytes`; left out, none does. */
  readonly cuts?: number;
  readonly lineBytes?: number;
  /** Bytes on all lines after which nothing comes any more; left out, it always does. */
  readonly heldAfterBytes?: number;
}

export class CuttingProxy {
  readonly #server: Server;
  readonly #faults: Required<LineFaults>;
  readonly #sockets = new Set<Socket>();
  /** From the server to its clients, on all lines. */
  bytes = 0;
  /** Lines that died. */
  cuts = 0;
  /** Once nothing comes any more. */
  readonly held: Promise<void>;
  #hold = () => {};

  private constructor(server: Server, faults: LineFaults) {
    const never = Number.POSITIVE_INFINITY;
    this.#server = server;
    this.#faults = { cuts: 0, lineBytes: never, heldAfterBytes: never, ...faults };
    this.held = new Promise((resolve) => {
      this.#hold = resolve;
    });
  }

  static async start(target: string, faults: LineFaults): Promise<CuttingProxy> {
    const server = createServer();
    const proxy = new CuttingProxy(server, faults);
    server.on("connection", (client) => proxy.#join(client, target));
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return proxy;
  }

  /** Host and port. */
  get host(): string {
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
  }

  #join(client: Socket, target: string): void {
    const [host = "", port] = target.split(":");
    const upstream = connect({ host, port: Number(port) });
    const { cuts, lineBytes, heldAfterBytes } = this.#faults;
    const isMortal = this.cuts < cuts;
    let left = isMortal ? lineBytes : Number.POSITIVE_INFINITY;
    for (const socket of [client, upstream]) {
      this.#sockets.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => {
        client.destroy();
        upstream.destroy();
      });
    }
    client.pipe(upstream);
    upstream.on("data", (chunk: Buffer) => {
      if (this.bytes >= heldAfterBytes) {
        this.#hold();
        return;
      }
      const part = chunk.subarray(0, left);
      left -= part.length;
      this.bytes += part.length;
      client.write(part, () => {
        if (!isMortal || left > 0 || client.destroyed) return;
        this.cuts++;
        client.destroy();
      });
    });
  }
}
