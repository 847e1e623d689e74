/** Machines that are network namespaces of Linux, each behind a link of its own to one router. */
import { rmSync } from "node:fs";
import { command, commandIn } from "./command.ts";
import { forgetDead, freeNets, OWN_PREFIX } from "./leftovers.ts";
import { Machine } from "./machine.ts";

/** Exit status of a program that SIGINT has ended. */
const INTERRUPTED = 130;

/** The third byte of the address of this side, from where clients ask. */
const OWN_SUBNET = 250;

/** The second byte of addresses: the first that is free, for several may run at a time. */
const [FIRST_NET, LAST_NET] = [78, 99];

/**
 * A router and the machines around it. Addresses are 10.78.N.2, that of the router beside them is
 * 10.78.N.1, or 10.79 and so on where another network has that. All that goes from one machine to
 * another passes the router, where it can be stopped.
 */
export class Network {
  readonly router: string;
  readonly #prefix: string;
  readonly #net: number;
  readonly #machines: Machine[] = [];
  readonly #disks: string[] = [];
  #closing: Promise<void> | undefined;

  private constructor(prefix: string, net: number) {
    this.#prefix = prefix;
    this.#net = net;
    this.router = `${prefix}-router`;
  }

  /**
   * Machines as long as they are used: what was made is taken away, also where the program is told
   * to end. @param folder goes as well then, as it does by itself else.
   */
  static async with<T>(folder: string, use: (network: Network) => Promise<T>): Promise<T> {
    const network = await Network.open();
    const signals = ["SIGINT", "SIGTERM"] as const;
    const onSignal = (signal: NodeJS.Signals) => {
      process.stderr.write(`${signal}: machines and disks are taken away\n`);
      const leave = () => {
        rmSync(folder, { recursive: true, force: true });
        process.exit(INTERRUPTED);
      };
      network.close().then(leave, (error) => {
        process.stderr.write(`${error}\n`);
        leave();
      });
    };
    for (const signal of signals) process.once(signal, onSignal);
    try {
      return await use(network);
    } finally {
      for (const signal of signals) process.off(signal, onSignal);
      await network.close();
    }
  }

  /** Needs to be root. @throws Error where the kernel or the user has no namespaces. */
  static async open(): Promise<Network> {
    await forgetDead();
    for (const net of await freeNets(FIRST_NET, LAST_NET)) {
      const network = new Network(OWN_PREFIX, net);
      await command("ip", "netns", "add", network.router);
      try {
        await network.#route();
        return network;
      } catch (error) {
        await network.close();
        if (!isTaken(error)) throw error;
      }
    }
    throw new Error(`expected a free network among 10.${FIRST_NET} to 10.${LAST_NET}, found none`);
  }

  async #route(): Promise<void> {
    await this.inRouter("ip", "link", "set", "lo", "up");
    await this.inRouter("sysctl", "-qw", "net.ipv4.ip_forward=1");
    // A link that is slowed is another device, and a packet may come by the one of before.
    await this.inRouter("sysctl", "-qw", "net.ipv4.conf.all.rp_filter=0");
    await this.#link(OWN_SUBNET, `${this.#prefix}c`, null);
    const gateway = `10.${this.#net}.${OWN_SUBNET}.1`;
    await command("ip", "route", "add", `10.${this.#net}.0.0/16`, "via", gateway);
  }

  async machine(name: string): Promise<Machine> {
    const namespace = `${this.#prefix}-${name}`;
    const subnet = this.#machines.length + 1;
    await command("ip", "netns", "add", namespace);
    const machine = new Machine(this.router, { name, namespace, net: this.#net, subnet });
    this.#machines.push(machine);
    await machine.inside("ip", "link", "set", "lo", "up");
    await this.#link(subnet, "eth0", namespace);
    await machine.inside("ip", "route", "add", "default", "via", machine.gateway);
    return machine;
  }

  inRouter(...args: string[]): Promise<string> {
    return commandIn(this.router, ...args);
  }

  /** A disk in memory, of a size, that goes with the network. @param folder an empty one. */
  async disk(folder: string, sizeMb: number): Promise<void> {
    await command("mount", "-t", "tmpfs", "-o", `size=${sizeMb}m`, this.#prefix, folder);
    this.#disks.push(folder);
  }

  /** Packets that were stopped anywhere go again. */
  async healAll(): Promise<void> {
    await this.inRouter("iptables", "-w", "-F", "FORWARD");
    for (const machine of this.#machines) await machine.hasten();
  }

  /**
   * Ends whatever runs on the machines, and takes them, their links and disks away: all of it, also
   * where one of them does not go. @throws AggregateError with why those did not.
   */
  close(): Promise<void> {
    // A signal may come while an error already has it closed: both wait for the one end.
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    const errors: unknown[] = [];
    const attempt = (act: Promise<unknown>) => act.catch((error) => errors.push(error));
    for (const machine of this.#machines.splice(0)) await attempt(machine.close());
    for (const disk of this.#disks.splice(0)) await attempt(command("umount", "-l", disk));
    await attempt(command("ip", "netns", "delete", this.router));
    if (errors.length > 0) throw new AggregateError(errors, `${errors.map(String).join("; ")}`);
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
    await command(
      "ip",
      ...inside,
      "address",
      "add",
      `10.${this.#net}.${subnet}.2/24`,
      "dev",
      device,
    );
    await command("ip", ...inside, "link", "set", device, "up");
    await this.inRouter("ip", "address", "add", `10.${this.#net}.${subnet}.1/24`, "dev", far);
    await this.inRouter("ip", "link", "set", far, "up");
  }
}

/** Whether somebody else has had the same network since it was looked for. */
function isTaken(error: unknown): boolean {
  return error instanceof Error && error.message.includes("File exists");
}
