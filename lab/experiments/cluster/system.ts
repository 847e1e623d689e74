/** The whole of it on machines of its own: NATS, worker agents, front ends. */
import { mkdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { CLI } from "../harness/cli.ts";
import { Nats } from "./nats.ts";
import { Network } from "./network.ts";
import { Node } from "./node.ts";

const WORKERS = 4;
const FRONT_ENDS = 2;
const PORT = 8000;
const SETTLING_MS = 2000;
const RECORDER = "lab/experiments/cluster/run-recorder.cjs";

/**
 * Who runs the models: `local` processes of each front end; agents, which announce themselves to
 * NATS, at `urls` that front ends are given for good; or a `cluster` whose members find each other.
 */
export const TOPOLOGIES = ["local", "urls", "cluster"] as const;
export type Topology = (typeof TOPOLOGIES)[number];

interface SystemOptions {
  readonly folder: string;
  readonly policy: string;
  readonly models: string;
  readonly topology: Topology;
  readonly workers?: number;
  readonly frontEnds?: number;
}

export class System {
  readonly network: Network;
  readonly nats: Nats | null;
  readonly agents: readonly Node[];
  readonly frontEnds: readonly Node[];
  /** Where the recorder of runs writes. */
  readonly runs: string;

  private constructor(
    network: Network,
    nats: Nats | null,
    agents: readonly Node[],
    frontEnds: readonly Node[],
    runs: string,
  ) {
    this.network = network;
    this.nats = nats;
    this.agents = agents;
    this.frontEnds = frontEnds;
    this.runs = runs;
  }

  /** Starts all of it, and ends with it, also where the program is told to end. */
  static with<T>(options: SystemOptions, use: (system: System) => Promise<T>): Promise<T> {
    const { folder, topology } = options;
    return Network.with(folder, async (network) => {
      const nats = topology === "local" ? null : await Nats.start(network, folder);
      return use(await System.#start(network, nats, options));
    });
  }

  static async #start(
    network: Network,
    nats: Nats | null,
    options: SystemOptions,
  ): Promise<System> {
    const { folder, topology } = options;
    const runs = join(folder, "runs");
    mkdirSync(runs);
    const agents: Node[] = [];
    const agentCount = topology === "local" ? 0 : (options.workers ?? WORKERS);
    for (let at = 0; at < agentCount; at++) {
      const machine = await network.machine(`w${at + 1}`);
      const http = ["--http", `${machine.address}:${PORT}`, "--name", machine.name];
      const args = ["worker", "--models", options.models, ...http, ...clusterArgs(nats)];
      agents.push(nodeOf(machine, folder, args, runs));
    }
    const frontEnds: Node[] = [];
    const count = options.frontEnds ?? FRONT_ENDS;
    for (let at = 0; at < count; at++) {
      const machine = await network.machine(`f${at + 1}`);
      const policy = ["--policy", options.policy, "--models", options.models];
      const http = ["--http", `${machine.address}:${PORT}`, "--no-means-check", "--standby", "0"];
      const own = agents.filter((_, worker) => worker % count === at);
      const known = topology === "urls" ? ["--workers", urlsOf(own)] : [];
      const found = [...clusterArgs(nats), "--front-end", machine.name];
      const more = topology === "cluster" ? found : known;
      const args = ["serve", ...policy, ...http, ...more];
      frontEnds.push(nodeOf(machine, folder, args, runs));
    }
    const system = new System(network, nats, agents, frontEnds, runs);
    await system.settle();
    return system;
  }

  get nodes(): readonly Node[] {
    return [...(this.nats?.nodes ?? []), ...this.agents, ...this.frontEnds];
  }

  get urls(): readonly string[] {
    return this.frontEnds.map(urlOf);
  }

  /** After a fault that did not come to its end: undoes whatever of it may still be. */
  async recover(): Promise<void> {
    for (const { machine } of this.nodes) await machine.signal("SIGCONT");
    await this.network.healAll();
    await this.nats?.emptyDisks();
    await this.nats?.restart();
    await this.settle();
  }

  /** Starts what a fault has left stopped, and waits until everybody says that they are ready. */
  async settle(): Promise<void> {
    for (const node of this.nodes) if (node.hasEnded) node.start();
    for (const node of this.nodes) await node.ready();
    // Shares are divided anew twice a second.
    await pause(SETTLING_MS);
  }
}

function nodeOf(
  machine: Node["machine"],
  folder: string,
  args: readonly string[],
  runs: string,
): Node {
  const state = join(folder, `state-${machine.name}`);
  return new Node({
    machine,
    folder,
    args: [process.execPath, CLI, ...args],
    env: {
      NODE_OPTIONS: `--require=${resolve(RECORDER)}`,
      STRATAGEM_RUNS_FOLDER: resolve(runs),
      STATE_DIRECTORY: state,
    },
    readyUrl: `http://${machine.address}:${PORT}/v2/health/ready`,
  });
}

function clusterArgs(nats: Nats | null): string[] {
  return nats === null ? [] : ["--cluster", nats.url];
}

function urlOf({ machine }: Node): string {
  return `http://${machine.address}:${PORT}`;
}

function urlsOf(nodes: readonly Node[]): string {
  return nodes.map(urlOf).join(",");
}
