/** A NATS of three on machines of their own, each with a small disk of its own. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { command } from "./command.ts";
import type { Network } from "./network.ts";
import { Node } from "./node.ts";

export const NATS_COUNT = 3;
/** Large enough for models and bundles, and soon full. */
const DISK_MB = 48;
const CLIENT_PORT = 4222;
const ROUTE_PORT = 6222;
const MONITOR_PORT = 8222;

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
      await command("mount", "-t", "tmpfs", "-o", `size=${DISK_MB}m`, "tmpfs", disk);
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

  /** The disks go; whatever runs has to be over. */
  async unmount(): Promise<void> {
    for (const disk of this.#disks) await command("umount", "-l", disk);
  }
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
