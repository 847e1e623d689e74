/** Processes that run models for a server, as Linux tells of them. */
import { readdirSync, readFileSync } from "node:fs";

export interface WorkerProcess {
  readonly pid: number;
  readonly residentMib: number;
  /** Processor time, in the system's ticks. */
  readonly ticks: number;
}

/** The program of a worker, among the arguments that Linux tells with a zero after each. */
const WORKER = /\/exec\/worker\.js\0/;

/** Workers of a server, the first to start first. */
export function workersOf(serverPid: number): WorkerProcess[] {
  return childrenOf(serverPid).flatMap((pid) => {
    try {
      const command = readFileSync(`/proc/${pid}/cmdline`, "utf8");
      if (!WORKER.test(command)) return [];
      return [{ pid, residentMib: residentMib(pid), ticks: ticksOf(pid) }];
    } catch {
      // It has ended since.
      return [];
    }
  });
}

export function residentMib(pid: number): number {
  const text = readFileSync(`/proc/${pid}/status`, "utf8");
  return Math.round(Number(/^VmRSS:\s+(\d+) kB/m.exec(text)?.[1]) / 1024);
}

function ticksOf(pid: number): number {
  // The name of the program comes before, and may have spaces.
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)?.split(" ") ?? [];
  return Number(fields[11]) + Number(fields[12]);
}

function childrenOf(pid: number): number[] {
  const children = readdirSync(`/proc/${pid}/task`).flatMap((thread) => {
    const text = readFileSync(`/proc/${pid}/task/${thread}/children`, "utf8").trim();
    return text === "" ? [] : text.split(" ").map(Number);
  });
  return children.toSorted((one, other) => one - other);
}
