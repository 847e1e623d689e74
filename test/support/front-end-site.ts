/** Front ends and worker agents of a cluster as processes, and what they say of themselves. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { ClusterSite } from "./cluster-site.ts";
import { EdgeServers } from "./edge-servers.ts";
import { urlOf } from "./run-cli.ts";
import { untilTrue } from "./until-true.ts";

/** Numbers of a row. */
export const WIDTH = 3;
const WORKERS = ["w1", "w2", "w3"];
const OWN_WORKERS = ["stratagem_cluster_workers", 'share="own"'] as const;

export class FrontEndSite {
  readonly site = new ClusterSite();
  readonly edge = new EdgeServers(this.site.folder("edge"));
  readonly #running: ChildProcess[] = [];

  /** Three workers, and the bundle for them. */
  async startAll(cluster: string, name: string) {
    const { path } = this.edge.compile(name, WIDTH, WORKERS.length);
    const models = path.slice(0, path.lastIndexOf("/"));
    const starting = WORKERS.map((one) => this.startWorker(cluster, one, models));
    return { path, models, workers: await Promise.all(starting) };
  }

  /** @param models folder of them. @returns its URL. */
  async startWorker(cluster: string, name: string, models: string): Promise<string> {
    const own = ["--name", name, "--models", models, "--store", this.site.folder("store")];
    const shared = ["--cluster", cluster, "--http", "127.0.0.1:0", "--json"];
    const args = ["runtime/dist/cli.js", "worker", ...own, ...shared];
    const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
    this.#running.push(child);
    return urlOf(child);
  }

  startFrontEnd(cluster: string, name: string, policy: string) {
    const own = ["--policy", policy, "--cluster", cluster, "--front-end", name];
    return this.edge.serve(this.site.folder(name), ...own);
  }

  async untilAnswered(url: string): Promise<void> {
    await untilTrue("a front end answers", async () => {
      return (await this.edge.answered(url, WIDTH)) === 200;
    });
  }

  /** Ends all processes and NATS. */
  async end(): Promise<void> {
    await this.edge.end();
    for (const child of this.#running.splice(0)) await ended(child, "SIGKILL");
    await this.site.end();
  }
}

export async function ended(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, "exit");
  child.kill(signal);
  await exit;
}

/** Sum of the samples of a name at `/metrics`, or of those that have a label. */
export async function metric(url: string, name: string, label = ""): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  const lines = text
    .split("\n")
    .filter((one) => one.startsWith(`${name} `) || one.startsWith(`${name}{`))
    .filter((one) => one.includes(label));
  return lines.reduce((sum, one) => sum + Number(one.slice(one.lastIndexOf(" "))), 0);
}

/** How many of the workers a front end has. */
export function ownWorkers(url: string): Promise<number> {
  return metric(url, ...OWN_WORKERS);
}

/** Asks until a front end has so many of the workers: what moves them are other processes. */
export async function untilShare(url: string, workers: number): Promise<void> {
  await untilTrue(`a front end has ${workers} workers`, async () => {
    return (await ownWorkers(url)) === workers;
  });
}

/** Rows that agents have run, and batches that were shown to one twice. */
export async function executed(
  workers: readonly string[],
): Promise<{ rows: number; doubled: number }> {
  let [rows, doubled] = [0, 0];
  for (const url of workers) {
    rows += await metric(url, "nv_inference_count");
    const text = await (await fetch(`${url}/metrics`)).text();
    doubled += Number(
      /^stratagem_refused_total\{what="batch",reason="double"\} (\d+)$/m.exec(text)?.[1],
    );
  }
  return { rows, doubled };
}
