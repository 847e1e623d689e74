/** One machine of the network: what runs on it, and what can be done to it and to its link. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { connect } from "node:net";
import { createInterface } from "node:readline";
import { ascending, quantile } from "../harness/numbers.ts";
import { command, commandIn } from "./command.ts";
import { within } from "./within.ts";

interface Identity {
  readonly name: string;
  readonly namespace: string;
  /** The second and the third byte of its address. */
  readonly net: number;
  readonly subnet: number;
}

/** Which way a link is cut, as the machine sees it. */
export type Direction = "in" | "out" | "both";

const SLOW_LINK = "lab/experiments/cluster/slow-link.py";
/** Nothing listens there. */
const CLOSED_PORT = 9;
const ROUND_TRIPS = 20;
const SLOW_DEVICE = "slow0";
/** For what is over at once. */
const LIMIT_MS = 10_000;

export class Machine {
  readonly name: string;
  readonly address: string;
  readonly gateway: string;
  readonly #router: string;
  readonly #namespace: string;
  readonly #subnet: number;
  /** What carries packets of a link that is slow. */
  #slow: ChildProcess | undefined;

  constructor(router: string, { name, namespace, net, subnet }: Identity) {
    this.name = name;
    this.#router = router;
    this.#namespace = namespace;
    this.#subnet = subnet;
    this.address = `10.${net}.${subnet}.2`;
    this.gateway = `10.${net}.${subnet}.1`;
  }

  inside(...args: string[]): Promise<string> {
    return commandIn(this.#namespace, ...args);
  }

  /** Starts a program on it. @param log descriptor of a file for all that it says. */
  spawn(args: readonly string[], log: number, env: NodeJS.ProcessEnv): ChildProcess {
    return spawn("ip", ["netns", "exec", this.#namespace, ...args], {
      detached: true,
      stdio: ["ignore", log, log],
      env: { ...process.env, ...env },
    });
  }

  /** Every process on it. */
  async pids(): Promise<number[]> {
    const told = await command("ip", "netns", "pids", this.#namespace);
    return told.split("\n").filter(Boolean).map(Number);
  }

  /** To everything that runs on it: SIGKILL is a power cut, SIGSTOP and SIGCONT a stall. */
  async signal(signal: NodeJS.Signals): Promise<void> {
    for (const pid of await this.pids()) kill(pid, signal);
  }

  /** Packets vanish from now on, without a word to whoever sends them. */
  async cut(direction: Direction): Promise<void> {
    await this.#rules("-I", direction);
  }

  async heal(direction: Direction): Promise<void> {
    await this.#rules("-D", direction);
  }

  /** Packets between it and another machine vanish, in both directions. */
  async cutFrom(other: Machine): Promise<void> {
    await this.#pairRules("-I", other);
  }

  async healTo(other: Machine): Promise<void> {
    await this.#pairRules("-D", other);
  }

  /** @param delayMs that each packet takes longer, in each direction. */
  async slow(delayMs: number): Promise<void> {
    const device = `slow${this.#subnet}`;
    const router = this.#router;
    const args = ["netns", "exec", router, "python3", SLOW_LINK, device, SLOW_DEVICE];
    const child = spawn("ip", [...args, String(delayMs)], { stdio: ["ignore", "pipe", "inherit"] });
    this.#slow = child;
    const said = once(createInterface({ input: child.stdout }), "line");
    const ended = once(child, "exit").then(() => {
      throw new Error(`${SLOW_LINK} for ${this.name} ended before it carried anything`);
    });
    await within(Promise.race([said, ended]), LIMIT_MS, `${SLOW_LINK} for ${this.name}`);
    ended.catch(() => {});
    await command("ip", "-n", router, "link", "set", SLOW_DEVICE, "netns", this.#namespace);
    await command("ip", "-n", router, "link", "set", device, "up");
    await this.inside("ip", "link", "set", SLOW_DEVICE, "up");
    await command("ip", "-n", router, "route", "add", `${this.address}/32`, "dev", device);
    await this.inside(
      ...["ip", "route", "replace", "default", "dev", SLOW_DEVICE, "src", this.address],
    );
  }

  /** The link is as fast as it was; connections go on. */
  async hasten(): Promise<void> {
    const child = this.#slow;
    if (child === undefined) return;
    this.#slow = undefined;
    const ended = once(child, "exit");
    await this.inside("ip", "route", "replace", "default", "via", this.gateway);
    await commandIn(this.#router, "ip", "route", "delete", `${this.address}/32`);
    if (child.exitCode === null && child.kill("SIGKILL")) {
      await within(ended, LIMIT_MS, `the end of ${SLOW_LINK} for ${this.name}`);
    }
  }

  /** Median time there and back from this side, as that of a refused connection, ms. */
  async roundTripMs(): Promise<number> {
    const times: number[] = [];
    for (let at = 0; at < ROUND_TRIPS; at++) {
      const startMs = performance.now();
      const socket = connect({ host: this.address, port: CLOSED_PORT });
      await once(socket, "connect").catch(() => {});
      times.push(performance.now() - startMs);
      socket.destroy();
    }
    return quantile(ascending(times), 0.5);
  }

  async close(): Promise<void> {
    this.#slow?.kill("SIGKILL");
    await this.signal("SIGKILL");
    await command("ip", "netns", "delete", this.#namespace);
  }

  async #rules(act: "-I" | "-D", direction: Direction): Promise<void> {
    const drop = (side: string) =>
      commandIn(this.#router, "iptables", "-w", act, "FORWARD", side, this.address, "-j", "DROP");
    if (direction !== "in") await drop("-s");
    if (direction !== "out") await drop("-d");
  }

  async #pairRules(act: "-I" | "-D", other: Machine): Promise<void> {
    for (const [from, to] of [
      [this, other],
      [other, this],
    ] as const) {
      const between = ["-s", from.address, "-d", to.address];
      await commandIn(this.#router, "iptables", "-w", act, "FORWARD", ...between, "-j", "DROP");
    }
  }
}

/** Whoever has ended meanwhile needs no signal. */
export function kill(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}
