/** Memory limits for a server and all that it starts, as a container has one. */
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const MIB = 2 ** 20;
/** Folders of a control group's memory, and the names of its files. */
const KINDS = [
  {
    root: "/sys/fs/cgroup/memory",
    limit: "memory.limit_in_bytes",
    peak: "memory.max_usage_in_bytes",
    killed: "memory.oom_control",
    name: "cgroup v1",
  },
  {
    root: "/sys/fs/cgroup",
    limit: "memory.max",
    peak: "memory.peak",
    killed: "memory.events",
    name: "cgroup v2",
  },
] as const;

export interface MemoryLimit {
  /** What it is, in words. */
  readonly told: string;
  /** Put before a command, keeps it and what it starts within the limit. */
  readonly prefix: readonly string[];
  /** Memory together so far at most, MiB, and processes killed for it; NaN where unknown. */
  readonly peakMb: () => number;
  readonly killed: () => number;
  readonly remove: () => void;
}

/** A control group where one can be made, else a limit of each process by itself. */
export function memoryLimit(name: string, mib: number): MemoryLimit {
  for (const kind of KINDS) {
    const folder = join(kind.root, name);
    try {
      mkdirSync(folder);
      if (!existsSync(join(folder, kind.limit))) throw new Error("no control of memory");
      writeFileSync(join(folder, kind.limit), String(mib * MIB));
    } catch {
      removed(folder);
      continue;
    }
    const text = (file: string) => readFileSync(join(folder, file), "utf8");
    return {
      told: `${mib} MiB for all processes (${kind.name})`,
      prefix: ["sh", "-c", `echo $$ > ${join(folder, "cgroup.procs")} && exec "$@"`, "sh"],
      peakMb: () => Number(text(kind.peak)) / MIB,
      killed: () => Number(/^oom_kill (\d+)$/m.exec(text(kind.killed))?.[1]),
      remove: () => removed(folder),
    };
  }
  return {
    told: `${mib} MiB of data for each process (prlimit; no control group can be made)`,
    prefix: ["prlimit", `--data=${mib * MIB}`],
    peakMb: () => Number.NaN,
    killed: () => Number.NaN,
    remove: () => {},
  };
}

function removed(folder: string): void {
  try {
    rmdirSync(folder);
  } catch {
    // It was not made, or its last process is about to end.
  }
}
