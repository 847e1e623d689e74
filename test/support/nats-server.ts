/** A nats-server of this machine as a process, with JetStream, that can be killed and stopped. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";

export const HAS_NATS_SERVER = spawnSync("nats-server", ["--version"]).status === 0;

export async function freePort(): Promise<number> {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  return address !== null && typeof address === "object" ? address.port : 0;
}

export class NatsServer {
  readonly port: number;
  readonly #folder: string;
  readonly #more: readonly string[];
  #child: ChildProcess | null = null;

  private constructor(port: number, folder: string, more: readonly string[]) {
    this.port = port;
    this.#folder = folder;
    this.#more = more;
  }

  /** @param folder of what it keeps. @param more arguments. */
  static async start(folder: string, ...more: string[]): Promise<NatsServer> {
    const server = new NatsServer(await freePort(), folder, more);
    await server.start();
    return server;
  }

  /** Again, with what it has kept. */
  async start(): Promise<void> {
    const args = ["-a", "127.0.0.1", "-p", String(this.port), "-js", "-sd", this.#folder];
    const child = spawn("nats-server", [...args, ...this.#more], {
      stdio: ["ignore", "ignore", "pipe"],
    });
    this.#child = child;
    // It is read to its end: a server whose lines nobody takes ends with the next one.
    let text = "";
    await new Promise<void>((resolve, reject) => {
      child.once("exit", () => reject(new Error(`nats-server has ended: ${text}`)));
      child.stderr.on("data", (chunk) => {
        if (text.includes("Server is ready")) return;
        text += String(chunk);
        if (text.includes("Server is ready")) resolve();
      });
    });
  }

  signal(signal: NodeJS.Signals): void {
    this.#child?.kill(signal);
  }

  async kill(): Promise<void> {
    const child = this.#child;
    this.#child = null;
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, "exit");
    child.kill("SIGKILL");
    await ended;
  }
}
