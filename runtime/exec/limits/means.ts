/** Resources that workers need and that this machine has left, checked before the first starts. */
import { readdirSync } from "node:fs";
import { availableParallelism, freemem } from "node:os";
import { join } from "node:path";
import {
  controlGroups,
  numberIn,
  type Processors,
  processorsOf,
  quotaText,
  textOf,
} from "../../base/control-groups.ts";

/** Resources left on the machine; an unknown or absent limit is Infinity. */
export interface Means {
  /** Memory available to further processes. */
  readonly memory: Limit;
  /** Threads that can still be started. */
  readonly threads: Limit;
  /** Descriptors that this process can still open, and all that it may have. */
  readonly files: Limit & { readonly most: number };
  readonly processors: Processors;
}

interface Limit {
  readonly left: number;
  /** Name of the limit, such as "RLIMIT_NOFILE". */
  readonly of: string;
}

/** Workers about to be started. */
export interface WantedWorkers {
  /** Number of workers, standbys included. */
  readonly count: number;
  /** Threads of each worker that run models. */
  readonly threads: number;
  /** Bytes of the model files that each worker holds. */
  readonly modelBytes: number;
  /** Descriptors that the server opens for their models, and for workers elsewhere. */
  readonly files: number;
  /** Bytes that the server itself may hold for their models. */
  readonly serverBytes?: number;
  /** Limit that sets those bytes, for messages. */
  readonly serverLimit?: string;
}

/** Descriptors of parts of a server other than workers, by their names in messages. */
export type FileParts = Readonly<Record<string, number>>;

/** A worker with its runtime and onnxruntime, before it holds a model: 50 to 60 MiB on Node 20. */
const WORKER_BYTES = 56 * 2 ** 20;
/** Threads of a Node process besides those that run models. */
const WORKER_THREADS = 11;
/** Server's end of the channel to a worker, and to one that starts beside it to replace it. */
const WORKER_FILES = 2;

/** Descriptors that the server opens for workers and their models, also while they are replaced. */
export function filesOf({ count, files }: WantedWorkers): number {
  return count * WORKER_FILES + files;
}

/**
 * Compares the needs of all bundles' workers with what is left.
 * @param parts descriptors that other parts of the server need beside them.
 * @returns a message naming what is needed and what is left; null if it is enough.
 */
export function lackOf(
  all: readonly WantedWorkers[],
  means: Means,
  parts: FileParts = {},
): string | null {
  const sum = (of: (wanted: WantedWorkers) => number) => {
    return all.reduce((total, wanted) => total + of(wanted), 0);
  };
  const count = sum((wanted) => wanted.count);
  const threadCount = sum((wanted) => wanted.count * (WORKER_THREADS + wanted.threads));
  const serverBytes = sum((wanted) => wanted.serverBytes ?? 0);
  const byteCount = sum((wanted) => wanted.count * (WORKER_BYTES + wanted.modelBytes));
  const wants: readonly (readonly [wanted: number, limit: Limit, what: string])[] = [
    [threadCount, means.threads, "threads"],
    [mebibytes(byteCount + serverBytes), inMebibytes(means.memory), "MiB of memory"],
  ];
  for (const [wanted, { left, of }, what] of wants) {
    if (wanted <= left) continue;
    const workers = count === 1 ? "1 worker" : `${count} workers`;
    const server = serverBytes > 0 ? ["the server"] : [];
    const who = count > 0 ? [workers, ...server] : server;
    const need = who.length === 1 && count <= 1 ? "needs" : "need";
    const has = `this machine has ${Math.max(0, left)} left (${of})`;
    return `${who.join(" and ")} ${need} ${wanted} ${what}, but ${has}`;
  }
  const ofWorkers = {
    [`${count === 1 ? "1 worker" : `${count} workers`} and models`]: sum(filesOf),
  };
  return lackOfFiles({ ...parts, ...ofWorkers }, means.files);
}

/** Names the parts that do not fit into a limit of open files, and the limit that they need. */
export function lackOfFiles(parts: FileParts, { left, most, of }: Means["files"]): string | null {
  const needed = Object.values(parts).reduce((total, count) => total + count, 0);
  if (needed <= left) return null;
  const open = most - left;
  const texts = Object.entries(parts).map(([name, count]) => `${name} ${count}`);
  return (
    `expected a limit of at least ${open + needed} open files (${of}, ulimit -n), got ${most}: ` +
    `${open} are open, and the parts need ${texts.join(", ")}`
  );
}

/** Returns a warning if workers have to share cores; null if each has its own. */
export function sharedCores(
  { count, threads }: Pick<WantedWorkers, "count" | "threads">,
  { processors }: Pick<Means, "processors">,
): string | null {
  if (count * threads <= Math.min(processors.count, processors.quota)) return null;
  const each = `${threads} ${threads === 1 ? "thread" : "threads"}`;
  return (
    `${count} workers of ${each} share ${quotaText(processors) ?? `${processors.count} cores`}: ` +
    "the promises of a bundle assume that each has its own, as in the profile"
  );
}

/** Sources of the limits: files of Linux; without them only memory is known. */
interface Sources {
  /** The root of `/proc` and `/sys`. */
  readonly root: string;
  readonly freeBytes: number;
  readonly cores: number;
}

/** Reads the resources of this machine and of the control groups that this process is in. */
export function meansOf(
  sources: Sources = { root: "/", freeBytes: freemem(), cores: availableParallelism() },
): Means {
  const { root, freeBytes, cores } = sources;
  const groups = controlGroups(root, "memory", "pids");
  const most = fileLimit(root);
  return {
    memory: least([
      { left: availableBytes(root) ?? freeBytes, of: "free memory" },
      ...groups.flatMap((group) => memoryOf(group) ?? []),
    ]),
    threads: least([
      { left: processLimit(root, "Max processes"), of: "RLIMIT_NPROC" },
      { left: numberIn(join(root, "proc/sys/kernel/pid_max")), of: "kernel.pid_max" },
      ...groups.map((group) => ({
        left: numberIn(join(group, "pids.max")) - known(numberIn(join(group, "pids.current"))),
        of: "pids.max",
      })),
    ]),
    files: { left: most - openFiles(root), of: "RLIMIT_NOFILE", most },
    processors: processorsOf(root, cores),
  };
}

/** Counts inactive file pages as free. */
function memoryOf(group: string): Limit | null {
  const stat = textOf(join(group, "memory.stat")) ?? "";
  const cached = Number(/^(?:total_)?inactive_file (\d+)$/m.exec(stat)?.[1] ?? 0);
  for (const [limit, usage] of [
    ["memory.max", "memory.current"],
    ["memory.limit_in_bytes", "memory.usage_in_bytes"],
  ] as const) {
    const most = numberIn(join(group, limit));
    const used = known(numberIn(join(group, usage)));
    if (Number.isFinite(most)) return { left: most - Math.max(0, used - cached), of: limit };
  }
  return null;
}

function availableBytes(root: string): number | null {
  const found = /^MemAvailable:\s+(\d+) kB$/m.exec(textOf(join(root, "proc/meminfo")) ?? "");
  return found === null ? null : 1024 * Number(found[1]);
}

/** Maximum number of open descriptors; Infinity if the system does not report it. */
export function fileLimit(root = "/"): number {
  const most = processLimit(root, "Max open files");
  if (most !== Number.POSITIVE_INFINITY || process.platform === "linux") return most;
  // Other systems report their limits in Node's own report, which takes longer.
  const { userLimits }: { userLimits?: { open_files?: { soft?: unknown } } } = Object(
    process.report?.getReport(),
  );
  const soft = userLimits?.open_files?.soft;
  return typeof soft === "number" ? soft : Number.POSITIVE_INFINITY;
}

/** Returns the soft limit. */
function processLimit(root: string, name: string): number {
  const lines = (textOf(join(root, "proc/self/limits")) ?? "").split("\n");
  const line = lines.find((each) => each.startsWith(name)) ?? "";
  return Number(/^\s+(\d+)/.exec(line.slice(name.length))?.[1] ?? Number.POSITIVE_INFINITY);
}

function openFiles(root: string): number {
  try {
    return readdirSync(join(root, "proc/self/fd")).length;
  } catch {
    return 0;
  }
}

function known(value: number): number {
  return Number.isFinite(value) ? value : 0;
}

function least(limits: readonly Limit[]): Limit {
  return limits.reduce((found, limit) => (limit.left < found.left ? limit : found));
}

function inMebibytes({ left, of }: Limit): Limit {
  return { left: mebibytes(left), of };
}

function mebibytes(bytes: number): number {
  return Math.round(bytes / 2 ** 20);
}
