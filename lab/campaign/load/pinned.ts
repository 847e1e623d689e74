/** Processes on processor cores of their own: what is loaded on one, who loads it on another. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { childrenOf } from "./process-watch.ts";
import type { LoadOrder, PhaseReport } from "./report.ts";

const GENERATOR = fileURLToPath(new URL("./generator.js", import.meta.url));

/** Whether processes can be kept on cores here: `taskset` is there, and two cores are. */
export const CAN_PIN =
  availableParallelism() > 1 && spawnSync("taskset", ["--version"]).error === undefined;

/** The core of the generator; the others are for the server and its workers. */
const GENERATOR_CORE = String(availableParallelism() - 1);
const SERVER_CORES = `0-${availableParallelism() - 2}`;

/** Keeps a process, what it has started and what it will start on the cores of the server. */
export function pinServer(pid: number): void {
  if (!CAN_PIN) return;
  for (const one of [pid, ...childrenOf(pid)]) {
    spawnSync("taskset", ["-a", "-c", "-p", SERVER_CORES, String(one)]);
  }
}

/** In words, for the table. */
export function layoutText(): string {
  return CAN_PIN
    ? `server and workers on cores ${SERVER_CORES}, generator on ${GENERATOR_CORE}`
    : "not pinned apart, for taskset or a second core is missing";
}

/** A generator in a process of its own. */
export class Generator {
  readonly #child: ChildProcess;

  constructor() {
    const node = [process.execPath, GENERATOR];
    const [command = "", ...args] = CAN_PIN ? ["taskset", "-c", GENERATOR_CORE, ...node] : node;
    this.#child = spawn(command, args, {
      stdio: ["ignore", "inherit", "inherit", "ipc"],
      serialization: "advanced",
    });
  }

  send(order: LoadOrder): Promise<PhaseReport[]> {
    const child = this.#child;
    return new Promise((resolve, reject) => {
      const onEnd = () => reject(new Error("the load generator ended by itself"));
      child.once("exit", onEnd);
      child.once("message", (reports) => {
        child.off("exit", onEnd);
        resolve(reports as PhaseReport[]);
      });
      child.send(order);
    });
  }

  close(): void {
    this.#child.disconnect();
  }
}
