/**
 * Names of temporary files and folders that tell who made them, so that what a killed process left
 * goes at the next run, and what a live one still writes stays.
 */
import { createHash, randomBytes } from "node:crypto";
import { readFileSync, readlinkSync } from "node:fs";
import { lstat, opendir, rm } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";

/**
 * Of processes that cannot be seen from here, such as those of another machine or container that
 * shares the folder: what was last written longer ago is left over.
 */
export const ABANDONED_AFTER_MS = 24 * 3_600_000;

/** Where nothing is known of the process. */
const NOWHERE = "0".repeat(12);
const NAME = /^([0-9a-f]{12})-(\d{1,10})-(\d{1,20})-[0-9a-f]{16}$/;
/** As the first version named them. */
const NAME_WITHOUT_OWNER = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** A name that nobody else takes: where its process runs, its number, when it started, chance. */
export function ownedName(prefix: string): string {
  const realm = realmOfProcesses();
  const start = startOf(process.pid) ?? "0";
  return `${prefix}${realm}-${process.pid}-${start}-${randomBytes(8).toString("hex")}`;
}

/**
 * Removes what processes that are gone left in a folder; whole folders only of the same user. A
 * process that can be seen from here is asked for; of others the age decides, ABANDONED_AFTER_MS.
 * What cannot be removed stays, since nothing depends on it.
 * @param prefix that their names begin with.
 * @param nowMs time of the folder's file system, as a fresh file has it.
 */
export async function removeLeftOvers(
  folder: string,
  prefix: string,
  nowMs: number,
): Promise<void> {
  try {
    for await (const { name } of await opendir(folder)) {
      if (!name.startsWith(prefix)) continue;
      const path = join(folder, name);
      const isLeft = await isLeftOver(path, name.slice(prefix.length), nowMs).catch(() => false);
      if (isLeft) await rm(path, { recursive: true, force: true }).catch(() => {});
    }
  } catch {
    // A folder that may be written to but not listed.
  }
}

async function isLeftOver(path: string, rest: string, nowMs: number): Promise<boolean> {
  const [, realm, pid, start] = NAME.exec(rest) ?? [];
  if (realm === undefined && !NAME_WITHOUT_OWNER.test(rest)) return false;
  const found = await lstat(path);
  if (found.isDirectory() && found.uid !== process.getuid?.()) return false;
  if (realm !== undefined && realm !== NOWHERE && realm === realmOfProcesses()) {
    return !isAlive(Number(pid), start ?? "");
  }
  return nowMs - found.mtimeMs > ABANDONED_AFTER_MS;
}

/** Whether a process runs that started then; one that may not be looked at is taken for alive. */
function isAlive(pid: number, start: string): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== "ESRCH";
  }
  const found = startOf(pid);
  return found === null || found === start;
}

/** Processes that see each other by number: one start of one machine, one space of numbers. */
function realmOfProcesses(): string {
  try {
    if (readlinkSync("/proc/self") !== String(process.pid)) return NOWHERE;
    const boot = readFileSync("/proc/sys/kernel/random/boot_id", "utf8");
    const space = readlinkSync("/proc/self/ns/pid");
    const realm = JSON.stringify([hostname(), boot, space]);
    return createHash("sha256").update(realm).digest("hex").slice(0, NOWHERE.length);
  } catch {
    return NOWHERE;
  }
}

/** When a process started, in ticks since the machine did; null where that cannot be read. */
function startOf(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The name of the command may hold spaces and parentheses; the 22nd field is the 20th after it.
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? null;
  } catch {
    return null;
  }
}
