/** Machines that are network namespaces of Linux, each behind a link of its own to one router. */
import { command, commandIn } from "./command.ts";
import { kill, Machine } from "./machine.ts";

/** The third byte of the address of this side, from where clients ask. */
const OWN_SUBNET = 250;

/** Before the number of the process whose namespaces they are. */
const PREFIX = "sg";

/**
 * A router and the machines around it. Addresses are 10.77.N.2, that of the router beside them is
 * 10.77.N.1. All that goes from one machine to another passes the router, where it can be stopped.
 */
export class Network {
  readonly router: string;
  readonly #prefix: string;
  readonly #machines: Machine[] = [];

  private constructor(prefix: string) {
    this.#prefix = prefix;
    this.router = `${prefix}-router`;
  }

  /** Needs to be root. @throws Error where the kernel or the user has no namespaces. */
  static async open(): Promise<Network> {
    await forgetDead();
    const network = new Network(`${PREFIX}${process.pid}`);
    const { router } = network;
    await command("ip", "netns", "add", router);
    await network.inRouter("ip", "link", "set", "lo", "up");
    await network.inRouter("sysctl", "-qw", "net.ipv4.ip_forward=1");
    // A link that is slowed is another device, and a packet may come by the one of before.
    await network.inRouter("sysctl", "-qw", "net.ipv4.conf.all.rp_filter=0");
    const device = `${network.#prefix}c`;
    await network.#link(OWN_SUBNET, device, null);
    await command("ip", "route", "replace", "10.77.0.0/16", "via", `10.77.${OWN_SUBNET}.1`);
    return network;
  }

  async machine(name: string): Promise<Machine> {
    const namespace = `${this.#prefix}-${name}`;
    const subnet = this.#machines.length + 1;
    await command("ip", "netns", "add", namespace);
    const machine = new Machine(this.router, { name, namespace, subnet });
    this.#machines.push(machine);
    await machine.inside("ip", "link", "set", "lo", "up");
    await this.#link(subnet, "eth0", namespace);
    await machine.inside("ip", "route", "add", "default", "via", machine.gateway);
    return machine;
  }

  inRouter(...args: string[]): Promise<string> {
    return commandIn(this.router, ...args);
  }

  /** Ends whatever runs on the machines, and takes them and their links away. */
  async close(): Promise<void> {
    for (const machine of this.#machines.splice(0)) await machine.close();
    await command("ip", "netns", "delete", this.router);
  }

  /** A pair of devices: one in the router, its peer on a machine or, for null, on this side. */
  async #link(subnet: number, device: string, namespace: string | null): Promise<void> {
    const far = `r${subnet}`;
    const near = `${this.#prefix}n`;
    const peer = ["type", "veth", "peer", "name", far, "netns", this.router];
    await command("ip", "link", "add", near, ...peer);
    const place = namespace === null ? [] : ["netns", namespace];
    await command("ip", "link", "set", near, "name", device, ...place);
    const inside = namespace === null ? [] : ["-n", namespace];
    await command("ip", ...inside, "address", "add", `10.77.${subnet}.2/24`, "dev", device);
    await command("ip", ...inside, "link", "set", device, "up");
    await this.inRouter("ip", "address", "add", `10.77.${subnet}.1/24`, "dev", far);
    await this.inRouter("ip", "link", "set", far, "up");
  }
}

/** Takes away what processes have left that were killed: namespaces, and what runs in them. */
async function forgetDead(): Promise<void> {
  const names = (await command("ip", "netns", "list"))
    .split("\n")
    .map((line) => line.split(" ")[0]);
  for (const name of names) {
    const owner = new RegExp(`^${PREFIX}(\\d+)-`).exec(name ?? "")?.[1];
    if (name === undefined || owner === undefined || isAlive(Number(owner))) continue;
    for (const pid of (await command("ip", "netns", "pids", name)).split("\n").filter(Boolean)) {
      kill(Number(pid), "SIGKILL");
    }
    await command("ip", "netns", "delete", name);
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
