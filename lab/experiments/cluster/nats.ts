/** A NATS of three on machines of their own, each with a small disk of its own. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { present } from "../harness/numbers.ts";
import { command } from "./command.ts";
import type { Network } from "./network.ts";
import { Node } from "./node.ts";

export const NATS_COUNT = 3;
/** Large enough for models and bundles, and soon full. */
const DISK_MB = 48;
const CLIENT_PORT = 4222;
const ROUTE_PORT = 6222;
const MONITOR_PORT = 8222;
/** Behind the bucket of a cluster (runtime/features/cluster). */
const STREAM = "KV_stratagem";
const ASK_MS = 2000;

export class Nats {
  readonly nodes: readonly Node[];
  /** As --cluster takes it. */
  readonly url: string;
  readonly #disks: readonly string[];

  private constructor(nodes: readonly Node[], disks: readonly string[]) {
    this.nodes = nodes;
    this.#disks = disks;
    const hosts = nodes.map(({ machine }) => `${machine.address}:${CLIENT_PORT}`);
    this.url = `nats://${hosts.join(",")}`;
  }

  /** @param folder for configurations, logs and disks. */
  static async start(network: Network, folder: string): Promise<Nats> {
    const names = Array.from({ length: NATS_COUNT }, (_, at) => `n${at + 1}`);
    const machines = [];
    for (const name of names) machines.push(await network.machine(name));
    const routes = machines.map(({ address }) => `nats-route://${address}:${ROUTE_PORT}`);
    const disks: string[] = [];
    const nodes: Node[] = [];
    for (const machine of machines) {
      const disk = join(folder, `disk-${machine.name}`);
      mkdirSync(disk);
      await network.disk(disk, DISK_MB);
      disks.push(disk);
      const file = join(folder, `${machine.name}.conf`);
      writeFileSync(file, configuration(machine.name, machine.address, disk, routes));
      const readyUrl = `http://${machine.address}:${MONITOR_PORT}/healthz`;
      nodes.push(new Node({ machine, folder, args: ["nats-server", "-c", file], readyUrl }));
    }
    const nats = new Nats(nodes, disks);
    for (const node of nodes) node.start();
    for (const node of nodes) await node.ready();
    return nats;
  }

  /** Not a byte is left on any of the disks. */
  async fillDisks(): Promise<void> {
    for (const disk of this.#disks) {
      const file = join(disk, "filler");
      await command("sh", "-c", `head -c ${DISK_MB}M /dev/zero > "${file}" || true`).catch(
        () => "",
      );
    }
  }

  async emptyDisks(): Promise<void> {
    for (const disk of this.#disks) await command("rm", "-f", join(disk, "filler"));
  }

  /**
   * Stops all of them and starts them again, as an operator has to after their disks were full:
   * 2.9.10 has then no leader for longer than it holds one.
   */
  async restart(): Promise<void> {
    for (const node of this.nodes) await node.kill();
    for (const node of this.nodes) node.start();
    for (const node of this.nodes) await node.ready();
  }

  /** Who writes what all of Stratagem's members write; and one of those who only follow. */
  async leader(): Promise<Node> {
    const name = await this.#leaderName();
    const leader = this.nodes.find((node) => node.name === name);
    if (leader === undefined) throw new Error(`expected a leader among NATS, found ${name}`);
    return leader;
  }

  async follower(): Promise<Node> {
    const leader = await this.leader();
    return present(this.nodes.find((node) => node !== leader));
  }

  /** As the first of them that answers says it. */
  async #leaderName(): Promise<string> {
    const found: string[] = [];
    for (const { machine } of this.nodes) {
      const url = `http://${machine.address}:${MONITOR_PORT}/jsz?acc=$G&streams=1`;
      const signal = AbortSignal.timeout(ASK_MS);
      const answer = await fetch(url, { signal }).catch(() => null);
      const stated = (await answer?.json()) as JetStreamState | undefined;
      const streams = stated?.account_details?.flatMap((one) => one.stream_detail ?? []) ?? [];
      const leader = streams.find(({ name }) => name === STREAM)?.cluster?.leader;
      if (leader !== undefined && leader !== "") return leader;
      found.push(`${machine.name}: ${streams.map(({ name }) => name).join(", ")}`);
    }
    throw new Error(`expected a NATS with the stream ${STREAM}, found ${found.join("; ")}`);
  }
}

/** What is read of NATS's `/jsz`. */
interface JetStreamState {
  readonly account_details?: readonly {
    readonly stream_detail?: readonly {
      readonly name: string;
      readonly cluster?: { readonly leader?: string };
    }[];
  }[];
}

function configuration(
  name: string,
  address: string,
  disk: string,
  routes: readonly string[],
): string {
  return [
    `server_name: ${name}`,
    `listen: "${address}:${CLIENT_PORT}"`,
    `http: "${address}:${MONITOR_PORT}"`,
    `jetstream { store_dir: "${join(disk, "js")}", max_file_store: ${DISK_MB}M }`,
    "cluster {",
    "  name: stratagem",
    `  listen: "${address}:${ROUTE_PORT}"`,
    `  routes: [${routes.join(", ")}]`,
    "}",
    "",
  ].join("\n");
}
