/** Control groups of this process on Linux, versions 1 and 2: processors and throttled time. */
import { readFileSync, statSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";

/** Processors that this process may use. */
export interface Processors {
  /** How many it may run on, by cpuset and affinity. */
  readonly count: number;
  /** Their numbers; null if the system does not report them. */
  readonly numbers: ReadonlySet<number> | null;
  /** Processors' worth of time by quota; Infinity without a quota. */
  readonly quota: number;
  /** File that sets the quota, such as "cpu.max". */
  readonly quotaOf: string;
}

/** @param count processors that the system says this process may use. */
export function processorsOf(root = "/", count = availableParallelism()): Processors {
  const status = textOf(join(root, "proc/self/status")) ?? "";
  const list = /^Cpus_allowed_list:\s*(\S+)$/m.exec(status)?.[1];
  const quotas = controlGroups(root, "cpu").map(quotaIn);
  const least = quotas.reduce((one, other) => (other.quota < one.quota ? other : one), NO_QUOTA);
  return { count, numbers: list === undefined ? null : numbersOf(list), ...least };
}

/** Whole processors for work in parallel: by cpuset, affinity and quota, at least one. */
export function parallelism(root = "/", count = availableParallelism()): number {
  return Math.max(1, Math.floor(Math.min(count, processorsOf(root, count).quota)));
}

/** Formats `1.0 processors by quota (cpu.max)`; null where no quota is below the processors. */
export function quotaText({ count, quota, quotaOf: of }: Processors): string | null {
  if (quota >= count) return null;
  return `${Math.max(0.1, quota).toFixed(1)} processors by quota (${of})`;
}

/**
 * Returns the text of /proc/stat with the sums and the lines of the processors that this process
 * may use: a container sees all of its machine. @param numbers of them; null for all.
 */
export function ownStat(text: string, numbers = allowedNumbers()): string {
  const lines = text.split("\n");
  const all = lines.filter((line) => line.startsWith("cpu") && line[3] !== " ");
  const own = all.filter((line) => numbers?.has(Number.parseInt(line.slice(3), 10)));
  if (own.length === 0 || own.length === all.length) return text;
  const counts = own.map((line) => line.split(/ +/).slice(1).map(Number));
  const sums = (counts[0] ?? []).map((_, field) =>
    counts.reduce((sum, fields) => sum + (fields[field] ?? 0), 0),
  );
  return [`cpu  ${sums.join(" ")}`, ...own, ""].join("\n");
}

let allowed: { readonly numbers: Processors["numbers"] } | undefined;

/** The numbers, read once: a sampler asks a hundred times per second. */
function allowedNumbers(): Processors["numbers"] {
  allowed ??= processorsOf();
  return allowed.numbers;
}

/** Periods of a quota so far, and those in which processes were stopped. */
export interface Throttling {
  readonly periods: number;
  readonly throttled: number;
  /** Time that processors were withheld, ms; of several processors together. */
  readonly throttledMs: number;
}

/** Reads the group that was throttled the longest, of this process's and those above them. */
export function throttlingOf(root = "/"): Throttling | null {
  const all = controlGroups(root, "cpu").flatMap((group) => {
    const stat = textOf(join(group, "cpu.stat")) ?? "";
    const value = (name: string) => {
      const line = stat.split("\n").find((one) => one.startsWith(`${name} `));
      return line === undefined ? Number.NaN : Number(line.slice(name.length));
    };
    const [periods, throttled] = [value("nr_periods"), value("nr_throttled")];
    if (!(periods > 0)) return [];
    // Version 2 counts microseconds, version 1 nanoseconds.
    const [micros, nanos] = [value("throttled_usec"), value("throttled_time")];
    const throttledMs = Number.isNaN(micros) ? nanos / 1e6 : micros / 1e3;
    return [{ periods, throttled, throttledMs }];
  });
  return all.sort((one, other) => other.throttledMs - one.throttledMs)[0] ?? null;
}

/** Returns the share of periods that were throttled between two readings; null if unknown. */
export function throttledShare(from: Throttling | null, until: Throttling | null): number | null {
  if (until === null) return null;
  const periods = until.periods - (from?.periods ?? 0);
  return periods > 0 ? (until.throttled - (from?.throttled ?? 0)) / periods : 0;
}

/**
 * Returns the folders of this process's control groups and of all their parents, v1 and v2.
 * @param controllers of version 1; the groups of version 2 are always among them.
 */
export function controlGroups(root: string, ...controllers: readonly string[]): string[] {
  const lines = textOf(join(root, "proc/self/cgroup"))?.trim().split("\n") ?? [];
  const mount = join(root, "sys/fs/cgroup");
  const folders = lines.flatMap((line) => {
    const [, names = "", path = "/"] = /^\d+:([^:]*):(.*)$/.exec(line) ?? [];
    const isWanted = names === "" || names.split(",").some((name) => controllers.includes(name));
    if (!isWanted) return [];
    const parts = path.split("/").filter((part) => part !== "" && part !== "..");
    return Array.from({ length: parts.length + 1 }, (_, depth) =>
      join(mount, names, ...parts.slice(0, depth)),
    );
  });
  return folders.filter((folder) => statSync(folder, { throwIfNoEntry: false })?.isDirectory());
}

type Quota = Pick<Processors, "quota" | "quotaOf">;
const NO_QUOTA: Quota = { quota: Number.POSITIVE_INFINITY, quotaOf: "" };

/** Time and period are µs in both versions; without a quota they are `max`, or −1. */
function quotaIn(group: string): Quota {
  const [most, period] = (textOf(join(group, "cpu.max")) ?? "").split(" ").map(Number);
  if (most !== undefined && period !== undefined && most / period > 0) {
    return { quota: most / period, quotaOf: "cpu.max" };
  }
  const of = "cpu.cfs_quota_us";
  const quota = numberIn(join(group, of)) / numberIn(join(group, "cpu.cfs_period_us"));
  return quota > 0 ? { quota, quotaOf: of } : NO_QUOTA;
}

/** Parses a list such as `0-2,8`. */
function numbersOf(list: string): Set<number> {
  const numbers = new Set<number>();
  for (const range of list.split(",")) {
    const [from = Number.NaN, until = from] = range.split("-").map(Number);
    for (let number = from; number <= until; number++) numbers.add(number);
  }
  return numbers;
}

/** Returns Infinity for a file that is missing or does not hold a number. */
export function numberIn(path: string): number {
  const text = textOf(path)?.trim() ?? "";
  return /^\d+$/.test(text) ? Number(text) : Number.POSITIVE_INFINITY;
}

export function textOf(path: string): string | null {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return null;
  }
}
