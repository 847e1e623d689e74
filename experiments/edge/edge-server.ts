/** A server at an edge: it follows a tag of a registry, and may be killed and started again. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync, readFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { CLI } from "../harness/cli.ts";

/** Of `GET /admin/policies`, as far as it is asked for. */
export interface PolicyStatus {
  readonly state: string;
  readonly revision: { readonly serial: number | null; readonly sha256: string } | null;
  readonly refused: { readonly error: { readonly code: string } } | null;
}

export interface Site {
  readonly name: string;
  readonly reference: string;
  readonly publicKey: string;
  readonly folder: string;
}

const LOOK_MS = 50;
/** Longer is a failure: a start takes seconds here, and a machine may be busy. */
const PATIENCE_MS = 90_000;

export class EdgeServer {
  readonly site: Site;
  readonly port: number;
  #child: ChildProcess | undefined;

  private constructor(site: Site, port: number) {
    this.site = site;
    this.port = port;
  }

  static async of(site: Site): Promise<EdgeServer> {
    return new EdgeServer(site, await freePort());
  }

  /** Starts it in a process group of its own, and waits until it is ready. */
  async start(): Promise<void> {
    const { name, reference, publicKey, folder } = this.site;
    const store = join(folder, `store-${name}`);
    const args = ["serve", "--policy", reference, "--policy-store", store, "--poll", "1s"];
    const trusted = ["--require-signature", publicKey, "--labels", `site=${name}`];
    const http = ["--http", `127.0.0.1:${this.port}`, "--no-means-check", "--standby", "0"];
    const log = join(folder, `${name}.log`);
    const file = openSync(log, "a");
    const child = spawn(process.execPath, [CLI, ...args, ...trusted, ...http], {
      detached: true,
      stdio: ["ignore", file, file],
      env: { ...process.env, STATE_DIRECTORY: join(folder, `state-${name}`) },
    });
    closeSync(file);
    this.#child = child;
    await this.until("ready", async () => {
      if (child.exitCode !== null) throw new Error(`${name} ended: ${readFileSync(log, "utf8")}`);
      return (await fetch(`${this.url}/v2/health/ready`)).status === 200;
    });
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** As if the power was cut: the server and its workers, at once. */
  async cut(): Promise<void> {
    const child = this.#child;
    if (child?.pid === undefined) return;
    const ended = once(child, "exit");
    process.kill(-child.pid, "SIGKILL");
    await ended;
  }

  async stop(): Promise<void> {
    const child = this.#child;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, "exit");
    child.kill("SIGTERM");
    await ended;
  }

  async status(): Promise<PolicyStatus> {
    const response = await fetch(`${this.url}/admin/policies`);
    const { policies } = (await response.json()) as { policies: PolicyStatus[] };
    const [policy] = policies;
    if (policy === undefined) throw new Error(`${this.site.name} tells of no policy`);
    return policy;
  }

  async follows(serial: number): Promise<void> {
    await this.until(`follows serial ${serial}`, async () => {
      const { state, revision } = await this.status();
      return state === "followed" && revision?.serial === serial;
    });
  }

  /** @returns the code of the error. */
  async refuses(): Promise<string> {
    let code: string | undefined;
    await this.until("refuses", async () => {
      code = (await this.status()).refused?.error.code;
      return code !== undefined;
    });
    return code ?? "";
  }

  /** @throws Error if it is not so in time. */
  async until(what: string, holds: () => Promise<boolean>): Promise<void> {
    const endMs = performance.now() + PATIENCE_MS;
    for (;;) {
      // Whoever does not listen yet is not ready.
      const isSo = await holds().catch((error: unknown) => {
        if (error instanceof TypeError) return false;
        throw error;
      });
      if (isSo) return;
      if (performance.now() > endMs) {
        const told = await this.status().then(JSON.stringify, String);
        throw new Error(`${this.site.name}: expected that it is or ${what}; it says ${told}`);
      }
      await pause(LOOK_MS);
    }
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  if (address === null || typeof address === "string") throw new TypeError("it has a port");
  return address.port;
}
