/** What the processors of the machine did: busy, idle, taken by the hypervisor, or by whom. */
import { readdirSync, readFileSync } from "node:fs";
import { cpus } from "node:os";

/** Since the machine started, over all its processors, ms. */
interface MachineTime {
  readonly busyMs: number;
  readonly idleMs: number;
  /** What the hypervisor gave to others; null where the system does not tell. */
  readonly stealMs: number | null;
}

/** Linux counts in hundredths of a second wherever it runs. */
const TICK_MS = 10;

export function machineTime(): MachineTime {
  return linuxTime(textOf("/proc/stat")) ?? nodeTime();
}

/**
 * Of the first line of /proc/stat: user, nice, system, idle, iowait, irq, softirq, steal. Null
 * where there is none. Source: proc_stat(5).
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

/** Of one processor since the machine started, hundredths of a second. */
export interface ProcessorCounts {
  /** In which it worked for this machine. */
  readonly busy: number;
  /** In which the hypervisor gave it to others while it had work. */
  readonly steal: number;
}

/** Null where nobody says. */
export function processorCounts(stat: string = textOf("/proc/stat")): ProcessorCounts[] | null {
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
 * Processor time of a process and of those it has started, ms; null where the system does not tell.
 */
export function familyMs(pid: number): number | null {
  const own = processMs(pid);
  if (own === null) return null;
  return childrenOf(pid).reduce((sum, child) => sum + (processMs(child) ?? 0), own);
}

/** A process and those it has started. */
export function familyOf(pid: number): number[] {
  return [pid, ...childrenOf(pid)];
}

/** Processor time of each process that there is, ms; none where the system does not tell. */
export function processesMs(pids: readonly number[]): Map<number, number> {
  return new Map(
    pids.flatMap((pid): [number, number][] => {
      const ms = processMs(pid);
      return ms === null ? [] : [[pid, ms]];
    }),
  );
}

/**
 * Processor time of the thread that runs a process's JavaScript, ms; null where the system does not
 * tell. What others of its threads do, such as writing logs, nobody waits for.
 */
export function mainThreadMs(pid: number): number | null {
  return statMs(`/proc/${pid}/task/${pid}/stat`);
}

function childrenOf(pid: number): number[] {
  try {
    const tasks = readdirSync(`/proc/${pid}/task`);
    const told = tasks.map((task) => textOf(`/proc/${pid}/task/${task}/children`)).join(" ");
    return told.split(" ").filter(Boolean).map(Number);
  } catch {
    return [];
  }
}

function processMs(pid: number): number | null {
  return statMs(`/proc/${pid}/stat`);
}

/** The 14th and 15th field, user and system time: the 12th and 13th behind the name. */
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
