/** Processor time of processes, as Linux counts it. */
import { readdirSync, readFileSync } from "node:fs";

/** Of Linux on all machines that Node runs on. */
const TICK_MS = 10;

export interface ProcessorTime {
  /** Of the process with all its threads, ms. */
  readonly ownMs: number;
  /** Of the processes that it has started and that still run, ms. */
  readonly childrenMs: number;
}

export function processorTime(pid: number): ProcessorTime {
  const childrenMs = childrenOf(pid).reduce((sum, child) => sum + usedMs(child), 0);
  return { ownMs: usedMs(pid), childrenMs };
}

function usedMs(pid: number): number {
  // The name of the program comes before, and may have spaces.
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)?.split(" ") ?? [];
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
}

function childrenOf(pid: number): number[] {
  return readdirSync(`/proc/${pid}/task`).flatMap((thread) => {
    const text = readFileSync(`/proc/${pid}/task/${thread}/children`, "utf8").trim();
    return text === "" ? [] : text.split(" ").map(Number);
  });
}
