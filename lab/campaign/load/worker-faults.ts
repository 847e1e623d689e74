/** Faults of worker processes that a server has started: they fail, are slow, stand still, end. */
import { writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { workersOf } from "./process-watch.ts";

const HOOK = "lab/campaign/worker-faults.cjs";
/** A share of the time shorter than any limit on a batch. */
const PULSE_MS = 20;
const LOOK_MS = 50;

export class WorkerFaults {
  readonly #file: string;

  /** @param file that its workers read, in a folder that is there. */
  constructor(file: string) {
    this.#file = resolve(file);
    this.#say([]);
  }

  /** Arguments of the server whose workers can be faulty. */
  get serveArgs(): string[] {
    const variables = [
      `NODE_OPTIONS=--require=${resolve(HOOK)}`,
      `STRATAGEM_WORKER_FAULTS=${this.#file}`,
    ];
    return variables.flatMap((variable) => ["--worker-env", variable]);
  }

  /** Every batch of these fails, of all workers without them. */
  fail(pids?: readonly number[]): void {
    this.#say((pids ?? ["all"]).map((who) => `${who} fail`));
  }

  /** Every batch of these takes so many times as long, of all workers without them. */
  slow(factor: number, pids?: readonly number[]): void {
    this.#say((pids ?? ["all"]).map((who) => `${who} slow ${factor}`));
  }

  heal(): void {
    this.#say([]);
  }

  #say(lines: readonly string[]): void {
    writeFileSync(this.#file, lines.join("\n"));
  }
}

/** A signal to processes, of which some may have ended. */
export function signal(pids: readonly number[], name: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, name);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
    }
  }
}

/** Stops and continues processes in turn, until it is called: each has half of the time. */
export function pulse(pids: readonly number[]): () => void {
  let isStopped = false;
  const timer = setInterval(() => {
    isStopped = !isStopped;
    signal(pids, isStopped ? "SIGSTOP" : "SIGCONT");
  }, PULSE_MS);
  return () => {
    clearInterval(timer);
    signal(pids, "SIGCONT");
  };
}

/** Kills what a server has of workers beyond a count, again and again until it is called. */
export function keepAtMost(server: number, count: number): () => void {
  const kill = () => signal(workersOf(server).slice(count), "SIGKILL");
  kill();
  const timer = setInterval(kill, LOOK_MS);
  return () => clearInterval(timer);
}
