/**
 * Names of temporary files and folders that identify their process, so that leftovers of killed
 * processes are removed at the next run, and files in use are kept.
 */
import { createHash, randomBytes } from "node:crypto";
import { readFileSync, readlinkSync } from "node:fs";
import { lstat, opendir, rm } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";

/**
 * Age of leftovers of processes that are not visible here, such as those on another machine or in a
 * container with the same folder.
 */
export const ABANDONED_AFTER_MS = 24 * 3_600_000;

/** Realm for unknown processes. */
const NOWHERE = "0".repeat(12);
const NAME = /^([0-9a-f]{12})-(\d{1,10})-(\d{1,20})-[0-9a-f]{16}$/;
/** Format of the first version. */
const NAME_WITHOUT_OWNER = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Returns a unique name: realm, process id, start time and a random part. */
export function ownedName(prefix: string): string {
  const realm = realmOfProcesses();
  const start = startOf(process.pid) ?? "0";
  return `${prefix}${realm}-${process.pid}-${start}-${randomBytes(8).toString("hex")}`;
}

/**
 * Removes files of ended processes from a folder; whole folders only of the same user. Visible
 * processes are checked; for others the age ABANDONED_AFTER_MS decides. Files that cannot be
 * removed are ignored.
 * @param prefix of their names.
 * @param nowMs time of the folder's file system, from a fresh file.
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
    // The folder may be writable but not listable.
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

/** Returns whether the process with that start time is running; true if that cannot be checked. */
function isAlive(pid: number, start: string): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== "ESRCH";
  }
  const found = startOf(pid);
  return found === null || found === start;
}

/** Identifies a process id namespace: boot of a machine, and namespace. */
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

/** Returns the start time of a process in ticks since boot; null if it cannot be read. */
function startOf(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The name of the command may have spaces and parentheses; the 22nd field is the 20th after it.
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? null;
  } catch {
    return null;
  }
}
