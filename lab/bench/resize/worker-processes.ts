/** Worker processes of this bench, and ways to give them fewer cores from outside. */
import { type ChildProcess, execFile, fork } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { present } from "../../experiments/harness/numbers.ts";
import type { Loaded, LoadSession, Ran, RunBatches } from "./bench-worker.ts";

const PERIOD_US = 100_000;

export class BenchWorker {
  readonly pid: number;
  readonly #child: ChildProcess;
  readonly #waiting = new Map<number, (result: unknown) => void>();
  #lastId = 0;

  constructor() {
    this.#child = fork(new URL("./bench-worker.js", import.meta.url));
    this.pid = present(this.#child.pid, "a process");
    this.#child.on("message", ({ id, result }: { id: number; result: unknown }) => {
      this.#waiting.get(id)?.(result);
      this.#waiting.delete(id);
    });
    this.#child.once("exit", (code) => {
      if (this.#waiting.size > 0) throw new Error(`a worker ended with ${code}`);
    });
  }

  load(options: Omit<LoadSession, "command">): Promise<Loaded> {
    return this.#ask<Loaded>({ command: "load", ...options });
  }

  run(options: Omit<RunBatches, "command">): Promise<Ran> {
    return this.#ask<Ran>({ command: "run", ...options });
  }

  #ask<Result>(ask: LoadSession | RunBatches): Promise<Result> {
    const id = ++this.#lastId;
    return new Promise((resolve) => {
      this.#waiting.set(id, (result) => resolve(result as Result));
      this.#child.send({ id, ask });
    });
  }

  end(): Promise<void> {
    return new Promise((resolve) => {
      this.#child.once("exit", () => resolve());
      this.#child.kill("SIGKILL");
    });
  }
}

/** All threads of a process. @param list as taskset takes it. */
export async function pin(pid: number, list: string): Promise<void> {
  await promisify(execFile)("taskset", ["-a", "-p", "-c", list, String(pid)]);
}

/** Of each thread. */
export function allowedCores(pid: number): string[] {
  return readdirSync(`/proc/${pid}/task`).map((thread) => {
    const status = readFileSync(`/proc/${pid}/task/${thread}/status`, "utf8");
    return /^Cpus_allowed_list:\s*(.*)$/m.exec(status)?.[1] ?? "";
  });
}

export interface Quota {
  /** @param cores null for no limit. */
  set(cores: number | null): void;
  remove(): void;
}

/** A cgroup of ours, of version 1 or 2; null where none can be made, which is said. */
export function quotaOf(pids: readonly number[]): Quota | null {
  const first = "/sys/fs/cgroup/cpu";
  const isFirst = existsSync(first) && readdirSync(first).length > 0;
  const folder = join(isFirst ? first : "/sys/fs/cgroup", `stratagem-resize-${process.pid}`);
  const set = (cores: number | null) => {
    const us = cores === null ? null : cores * PERIOD_US;
    if (isFirst) writeFileSync(join(folder, "cpu.cfs_quota_us"), String(us ?? -1));
    else writeFileSync(join(folder, "cpu.max"), `${us ?? "max"} ${PERIOD_US}`);
  };
  try {
    mkdirSync(folder);
    for (const pid of pids) writeFileSync(join(folder, "cgroup.procs"), String(pid));
    set(null);
    return { set, remove: () => rmdirSync(folder) };
  } catch (error) {
    console.log(`no cgroup can be made here: ${(error as Error).message}`);
    return null;
  }
}
