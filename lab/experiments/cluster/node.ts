/** What runs on one machine and can be killed and started again: NATS, an agent, a front end. */
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { Machine } from "./machine.ts";
import { within } from "./within.ts";

export interface NodeOptions {
  readonly machine: Machine;
  /** For what it says. */
  readonly folder: string;
  readonly args: readonly string[];
  readonly env?: NodeJS.ProcessEnv;
  /** Of an address on it that answers 200 once it is ready. */
  readonly readyUrl: string;
}

const LOOK_MS = 50;
/** Longer is a failure: a start takes seconds here, and a machine may be busy. */
const PATIENCE_MS = 90_000;
/** Longer than a program takes to give up what it was sent half of. */
const STOP_MS = 40_000;

export class Node {
  readonly machine: Machine;
  readonly #options: NodeOptions;
  readonly #log: string;
  #child: ChildProcess | undefined;

  constructor(options: NodeOptions) {
    this.#options = options;
    this.machine = options.machine;
    this.#log = join(options.folder, `${options.machine.name}.log`);
  }

  get name(): string {
    return this.machine.name;
  }

  /** Starts it. @param env more of the environment, for this start alone. */
  start(env: NodeJS.ProcessEnv = {}): void {
    const file = openSync(this.#log, "a");
    const { args, machine } = this.#options;
    this.#child = machine.spawn(args, file, { ...this.#options.env, ...env });
    closeSync(file);
  }

  /** @throws Error with what it said, if it ends or is not ready in time. */
  async ready(): Promise<void> {
    const endMs = performance.now() + PATIENCE_MS;
    while (!(await answers200(this.#options.readyUrl))) {
      const { hasEnded } = this;
      if (hasEnded || performance.now() > endMs) {
        const said = readFileSync(this.#log, "utf8").slice(-4000);
        const what = hasEnded ? "ended" : "is not ready in time";
        throw new Error(`${this.name}: it ${what}; it said\n${said}`);
      }
      await pause(LOOK_MS);
    }
  }

  /** The power of its machine is cut: all that runs there is gone at once. */
  async kill(): Promise<void> {
    const ended = this.#ended();
    await this.machine.signal("SIGKILL");
    await within(ended, STOP_MS, `the end of ${this.name} by SIGKILL`);
  }

  /** By SIGTERM, as whoever rolls machines does. */
  async stop(): Promise<void> {
    const ended = this.#ended();
    this.#child?.kill("SIGTERM");
    const isOver = await Promise.race([
      ended.then(() => true),
      pause(STOP_MS, false, { ref: false }),
    ]);
    if (isOver) return;
    const said = readFileSync(this.#log, "utf8").slice(-4000);
    throw new Error(`${this.name}: it does not stop within ${STOP_MS} ms; it said\n${said}`);
  }

  /** The process that was started itself, without its children. */
  get pid(): number {
    return this.#child?.pid ?? 0;
  }

  /** Whether it does not run, or was never started. */
  get hasEnded(): boolean {
    const child = this.#child;
    return child === undefined || child.exitCode !== null || child.signalCode !== null;
  }

  #ended(): Promise<unknown> {
    const child = this.#child;
    return child === undefined || this.hasEnded ? Promise.resolve() : once(child, "exit");
  }
}

/** Whoever does not listen yet is not ready. */
async function answers200(url: string): Promise<boolean> {
  try {
    return (await fetch(url, { signal: AbortSignal.timeout(1000) })).status === 200;
  } catch {
    return false;
  }
}
