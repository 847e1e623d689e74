/**
 * Reads how the machine's processors spent their time: busy, idle, or stolen by the hypervisor, and
 * per process.
 */
import { readdirSync, readFileSync } from "node:fs";
import { cpus } from "node:os";
import { ownStat } from "stratagem-runtime/internal/base/control-groups";

/** Totals since the machine started over all processors, in ms. */
interface MachineTime {
  readonly busyMs: number;
  readonly idleMs: number;
  /** Time that the hypervisor gave to others; null if the system does not report it. */
  readonly stealMs: number | null;
}

/** Unit of /proc/stat, a hundredth of a second on all platforms. */
const TICK_MS = 10;

export function machineTime(): MachineTime {
  return linuxTime(ownStat(textOf("/proc/stat"))) ?? nodeTime();
}

/**
 * Parses the first line of /proc/stat: user, nice, system, idle, iowait, irq, softirq, steal.
 * @returns null if the line is missing. Source: proc_stat(5).
 */
export function linuxTime(stat: string): MachineTime | null {
  const [first = ""] = stat.split("\n", 1);
  if (!first.startsWith("cpu ")) return null;
  const ticks = first.split(" ").slice(1).filter(Boolean).map(Number);
  const [user, nice, system, idle, iowait, irq, softirq, steal] = ticks;
  if (user === undefined || nice === undefined || system === undefined) return null;
  if (idle === undefined || iowait === undefined || steal === undefined) return null;
  const busy = user + nice + system + (irq ?? 0) + (softirq ?? 0);
  const idleMs = (idle + iowait) * TICK_MS;
  return { busyMs: busy * TICK_MS, idleMs, stealMs: steal * TICK_MS };
}

/** Totals of one processor since the machine started, in hundredths of a second. */
export interface ProcessorCounts {
  /** Time busy with work of this machine. */
  readonly busy: number;
  /** Time that the hypervisor gave to others although the processor had work. */
  readonly steal: number;
}

/** Returns null if the system does not report them. */
export function processorCounts(
  stat: string = ownStat(textOf("/proc/stat")),
): ProcessorCounts[] | null {
  const lines = stat.split("\n").filter((line) => line.startsWith("cpu") && line[3] !== " ");
  const counts = lines.map((line) => {
    const [user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0, steal = Number.NaN] = line
      .split(" ")
      .slice(1)
      .map(Number);
    return { busy: user + nice + system + irq + softirq, steal };
  });
  const isKnown = counts.length > 0 && counts.every(({ steal }) => !Number.isNaN(steal));
  return isKnown ? counts : null;
}

function nodeTime(): MachineTime {
  let [busyMs, idleMs] = [0, 0];
  for (const { times } of cpus()) {
    busyMs += times.user + times.nice + times.sys + times.irq;
    idleMs += times.idle;
  }
  return { busyMs, idleMs, stealMs: null };
}

/**
 * Returns the processor time of a process and its children, in ms; null if the system does not
 * report it.
 */
export function familyMs(pid: number): number | null {
  const own = processMs(pid);
  if (own === null) return null;
  return childrenOf(pid).reduce((sum, child) => sum + (processMs(child) ?? 0), own);
}

/** Returns a process and its children. */
export function familyOf(pid: number): number[] {
  return [pid, ...childrenOf(pid)];
}

/**
 * Returns the processor time of each process that exists, in ms; empty if the system does not
 * report it.
 */
export function processesMs(pids: readonly number[]): Map<number, number> {
  return new Map(
    pids.flatMap((pid): [number, number][] => {
      const ms = processMs(pid);
      return ms === null ? [] : [[pid, ms]];
    }),
  );
}

/**
 * Returns the processor time of a process's JavaScript thread, in ms; null if the system does not
 * report it. Requests do not wait for its other threads, such as those that write logs.
 */
export function mainThreadMs(pid: number): number | null {
  return statMs(`/proc/${pid}/task/${pid}/stat`);
}

function childrenOf(pid: number): number[] {
  try {
    const tasks = readdirSync(`/proc/${pid}/task`);
    const ids = tasks.map((task) => textOf(`/proc/${pid}/task/${task}/children`)).join(" ");
    return ids.split(" ").filter(Boolean).map(Number);
  } catch {
    return [];
  }
}

function processMs(pid: number): number | null {
  return statMs(`/proc/${pid}/stat`);
}

/** Fields 14 and 15, user and system time, which are fields 12 and 13 after the name. */
function statMs(path: string): number | null {
  const stat = textOf(path);
  if (stat === "") return null;
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
}

function textOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
