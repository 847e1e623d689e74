/** A server at an edge: it follows a tag of a registry, and may be killed and started again. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, mkdirSync, openSync, readFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { Talk } from "../../campaign/stopping/talk.ts";
import { RUNTIME_CLI } from "../harness/cli.ts";
import { CUT_FOLDERS, CUT_PLAN, CutPlan } from "./cut-plan.ts";

/** Of `GET /admin/policies`, as far as it is asked for. */
export interface PolicyStatus {
  readonly state: string;
  readonly revision: { readonly serial: number | null; readonly sha256: string } | null;
  readonly refused: { readonly error: { readonly code: string } } | null;
}

/** Of `GET /admin/canary`, the same. */
export interface CanaryStatus {
  readonly state: string;
  readonly sha256: string;
  readonly because: string;
  readonly requests?: Readonly<Record<"stable" | "canary", { kept: number; violated: number }>>;
}

export interface Site {
  readonly name: string;
  readonly reference: string;
  readonly publicKey: string;
  readonly folder: string;
  /** Who is told how its policy stands. */
  readonly statusUrl: string;
  /** What it is started with besides. */
  readonly more?: readonly string[];
}

const LOOK_MS = 50;
/** Longer is a failure: a start takes seconds here, and a machine may be busy. */
const PATIENCE_MS = 120_000;
/** Canaries are judged by evidence, which comes with requests. */
const CANARY_PATIENCE_MS = 600_000;

export class EdgeServer {
  readonly site: Site;
  readonly port: number;
  /** At which step of an update its power is cut. */
  readonly plan: CutPlan;
  #child: ChildProcess | undefined;

  private constructor(site: Site, port: number) {
    this.site = site;
    this.port = port;
    this.plan = new CutPlan(join(site.folder, `cut-${site.name}`));
  }

  static async of(site: Site): Promise<EdgeServer> {
    for (const kind of ["store", "state"]) mkdirSync(join(site.folder, `${kind}-${site.name}`));
    return new EdgeServer(site, await freePort());
  }

  /** Its labels, as flags have them. */
  get labels(): string {
    return `site=${this.site.name},tier=edge`;
  }

  /** Starts it in a process group of its own, and waits until it is ready. */
  async start(): Promise<void> {
    const { name, reference, publicKey, folder, statusUrl, more = [] } = this.site;
    const [store, state] = ["store", "state"].map((kind) => join(folder, `${kind}-${name}`));
    const from = ["--policy", reference, "--store", String(store), "--limit", "poll=1s"];
    const trusted = ["--require-signature", publicKey, "--labels", this.labels];
    const http = ["--http", `127.0.0.1:${this.port}`, "--no-means-check", "--standby", "0"];
    const args = ["serve", ...from, ...trusted, "--status-url", statusUrl, ...http, ...more];
    const log = join(folder, `${name}.log`);
    const file = openSync(log, "a");
    const hook = new URL("cut-hook.js", import.meta.url).href;
    const child = spawn(process.execPath, ["--import", hook, RUNTIME_CLI, ...args], {
      detached: true,
      stdio: ["ignore", file, file],
      env: {
        ...process.env,
        STATE_DIRECTORY: state,
        [CUT_PLAN]: this.plan.path,
        [CUT_FOLDERS]: `${store}:${state}`,
      },
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

  /** Whether there is no power: it was cut. */
  get isCut(): boolean {
    return this.#child?.signalCode === "SIGKILL";
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
    const { policies } = await this.#told<{ policies: PolicyStatus[] }>("/admin/policies");
    const [policy] = policies;
    if (policy === undefined) throw new Error(`${this.site.name} tells of no policy`);
    return policy;
  }

  async canary(): Promise<CanaryStatus> {
    const { canaries } = await this.#told<{ canaries: CanaryStatus[] }>("/admin/canary");
    const [canary] = canaries;
    if (canary === undefined) throw new Error(`${this.site.name} tells of no canary`);
    return canary;
  }

  /** Has it read the file of its canary, and start it. */
  async startCanary(): Promise<void> {
    const body = JSON.stringify({ action: "start" });
    const reply = await fetch(`${this.url}/admin/canary`, { method: "POST", body });
    if (reply.status !== 200) throw new Error(`${this.site.name}: ${await reply.text()}`);
  }

  /** @returns what is told of its canary once it is taken or given up. */
  async triedCanary(): Promise<CanaryStatus> {
    let told = await this.canary();
    const isOver = async () => {
      told = await this.canary();
      return told.state !== "tried" && told.state !== "starting";
    };
    await this.until("has tried its canary", isOver, CANARY_PATIENCE_MS);
    return told;
  }

  /** Whether a metric has a sample with a label, such as `state="refused"`, that is 1. */
  async hasMetric(name: string, label: string): Promise<boolean> {
    const text = await (await fetch(`${this.url}/metrics`)).text();
    return text.split("\n").some((line) => {
      return line.startsWith(name) && line.includes(label) && line.endsWith(" 1");
    });
  }

  /** The status of one request, whole as it goes over the wire. */
  async ask(message: Uint8Array): Promise<number | undefined> {
    const talk = await Talk.open(this.port);
    talk.write(message);
    const reply = await talk.reply();
    talk.close();
    return reply?.status;
  }

  async follows(serial: number): Promise<void> {
    await this.until(`follows serial ${serial}`, async () => {
      const { state, revision } = await this.status();
      return state === "followed" && revision?.serial === serial;
    });
  }

  /** @throws Error if it is not so in time. */
  async until(
    what: string,
    holds: () => Promise<boolean>,
    patienceMs = PATIENCE_MS,
  ): Promise<void> {
    const endMs = performance.now() + patienceMs;
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

  async #told<T>(path: string): Promise<T> {
    return (await (await fetch(`${this.url}${path}`)).json()) as T;
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
