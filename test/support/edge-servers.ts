/** Servers of one site as processes, and the bundles that somebody compiles for them. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { identityModel } from "./onnx-model.ts";
import { stratagem, urlOf } from "./run-cli.ts";

export interface CompiledEcho {
  readonly path: string;
  readonly bundle: Uint8Array;
  readonly sha256: string;
  /** By the names of files. */
  readonly models: Readonly<Record<string, Uint8Array>>;
}

export interface EdgeServer {
  readonly url: string;
  readonly child: ChildProcess;
  /** What it has said on stderr by now. */
  readonly told: () => string;
}

/** What a server tells of its only policy. */
interface PolicyTold {
  readonly state: string;
  readonly source: string;
  readonly revision: { readonly sha256: string; readonly serial: number | null };
  readonly refused: { readonly error: { readonly code: string } } | null;
  readonly away: { readonly error: { readonly code: string } } | null;
}

const POLL_MS = 50;
const MAX_TURNS = 1200;

export class EdgeServers {
  readonly #folder: string;
  readonly #running: ChildProcess[] = [];
  readonly #compiled = new Map<string, CompiledEcho>();

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** A bundle of the application "echo", whose model repeats rows of so many numbers. */
  compile(name: string, width: number, workers = 1): CompiledEcho {
    const own = join(this.#folder, name);
    mkdirSync(own);
    const variants = { small: { accuracy: 0.7, latencyMs: { 1: 10 } } };
    const profile = { format: "latency-profile/1", hardware: "test", variants };
    const variant = { name: "small", profile: "profile.json#small", model: `${name}.onnx` };
    const spec = {
      version: 1,
      application: "echo",
      slo: { latency: "5 s" },
      workload: { loads: [10], arrivals: { process: "poisson" } },
      cluster: { workers },
      tasks: [{ name: "classify", variants: [variant] }],
      policy: { method: "ramsis", maxQueue: 4 },
    };
    const model = identityModel(width);
    writeFileSync(join(own, `${name}.onnx`), model);
    writeFileSync(join(own, "profile.json"), JSON.stringify(profile));
    writeFileSync(join(own, "app.json"), JSON.stringify(spec));
    const path = join(own, "bundle.msgpack");
    const { stderr, stdout } = stratagem("compile", join(own, "app.json"), "-o", path, "--json");
    if (stderr !== "") throw new Error(stderr);
    const { sha256 }: { sha256: string } = JSON.parse(stdout).bundle;
    const models = { [`${name}.onnx`]: model };
    const made = { path, bundle: readFileSync(path), sha256, models };
    this.#compiled.set(name, made);
    return made;
  }

  compiled(name: string): CompiledEcho {
    const found = this.#compiled.get(name);
    if (found === undefined) throw new Error(`${name} was not compiled`);
    return found;
  }

  /** Starts a server, and waits until it says where it is. @param store folder of its site. */
  async serve(store: string, ...more: string[]): Promise<EdgeServer> {
    const child = this.launch(store, ...more);
    let text = "";
    child.stderr?.on("data", (chunk) => {
      text += String(chunk);
    });
    return { url: await urlOf(child), child, told: () => text };
  }

  launch(store: string, ...more: string[]): ChildProcess {
    const usual = ["--store", store, "--limit", "poll=1s", "--http", "127.0.0.1:0"];
    const quick = ["--standby", "0", "--no-means-check", "--json"];
    const args = ["runtime/dist/cli.js", "serve", ...usual, ...quick, ...more];
    const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "pipe"] });
    this.#running.push(child);
    return child;
  }

  async answered(url: string, width: number): Promise<number> {
    const data = Array.from({ length: width }, (_, at) => at);
    const inputs = [{ name: "x", datatype: "FP32", shape: [1, width], data }];
    const body = JSON.stringify({ inputs });
    const reply = await fetch(`${url}/v2/models/echo/infer`, { method: "POST", body });
    await reply.arrayBuffer();
    return reply.status;
  }

  async told(url: string): Promise<PolicyTold> {
    const reply = await fetch(`${url}/admin/policies`);
    const status = (await reply.json()) as { readonly policies: readonly PolicyTold[] };
    const [policy] = status.policies;
    if (policy === undefined) throw new Error(`no policy in ${JSON.stringify(status)}`);
    return policy;
  }

  /** Asks until a policy is as it should be: what polls is real, and so is its time. */
  async until(url: string, isSo: (told: PolicyTold) => boolean): Promise<PolicyTold> {
    for (let turn = 0; ; turn++) {
      const told = await this.told(url);
      if (isSo(told)) return told;
      if (turn > MAX_TURNS) throw new Error(`it stays ${JSON.stringify(told)}`);
      // Whoever asks without a pause takes the time of those that are asked.
      await pause(POLL_MS);
    }
  }

  /** Kills those that run. */
  async end(): Promise<void> {
    for (const child of this.#running.splice(0)) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      const ended = once(child, "exit");
      child.kill("SIGKILL");
      await ended;
    }
  }
}
