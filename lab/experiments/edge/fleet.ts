/** Who is told by all sites how their policies stand: the receiver of `--status-url`. */
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { PolicyStatus } from "./edge-server.ts";

interface Report {
  readonly labels: Readonly<Record<string, string>>;
  readonly policies: readonly PolicyStatus[];
}

export class Fleet {
  readonly #server: Server;
  /** Codes of refusals by site, in the order they were told. */
  readonly #codes = new Map<string, string[]>();
  #reports = 0;

  private constructor(server: Server) {
    this.#server = server;
    server.on("request", async (request, response) => {
      const pieces: Buffer[] = [];
      try {
        for await (const piece of request) pieces.push(piece);
        this.#hear(JSON.parse(Buffer.concat(pieces).toString()));
        response.writeHead(204).end();
      } catch {
        // Whoever was killed while it told something is no matter of this receiver.
        response.destroy();
      }
    });
  }

  static async open(): Promise<Fleet> {
    const server = createServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    return new Fleet(server);
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/status`;
  }

  /** How many documents came. */
  get reports(): number {
    return this.#reports;
  }

  /** Whether a site has told that it refuses something for that. */
  hasHeard(site: string, code: string): boolean {
    return this.#codes.get(site)?.includes(code) ?? false;
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  #hear({ labels, policies }: Report): void {
    this.#reports++;
    const site = labels["site"] ?? "";
    for (const { refused } of policies) {
      if (refused === null) continue;
      this.#codes.set(site, [...(this.#codes.get(site) ?? []), refused.error.code]);
    }
  }
}
