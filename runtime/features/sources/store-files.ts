/**
 * The few ways in which the policy store changes a disk. Each is done or not done when the process
 * is killed, and stays done when the power goes.
 */
import { copyFile, link, mkdir, open, rename, rm, stat } from "node:fs/promises";
import { dirname } from "node:path";

export interface StoreFiles {
  /** Makes a folder for its owner alone, with those above that are missing. */
  makeFolder(path: string): Promise<void>;
  /** Writes a file that there is not, and syncs it. */
  writeNew(path: string, bytes: Uint8Array): Promise<void>;
  /** Gives a file another name, or where a disk has no such thing copies and syncs it. */
  link(from: string, to: string): Promise<void>;
  /** Turns a name in one step, and syncs the folder of the new one. */
  rename(from: string, to: string): Promise<void>;
  /** Removes a file, or a folder with all in it; nothing is no error. */
  remove(path: string): Promise<void>;
}

const OWNERS_ALONE = 0o700;
/** Above a folder that is to be made: what is deeper is no place for a store. */
const MAX_MISSING = 32;
/** What disks say that have no second names for files, or no more of them. */
const NO_LINKS = new Set(["EPERM", "ENOTSUP", "ENOSYS", "EMLINK", "EXDEV", "EACCES"]);
/** What systems say that do not sync folders. */
const NO_SYNC = new Set(["EPERM", "EACCES", "EINVAL", "ENOSYS", "ENOTSUP", "EISDIR"]);

export const DISK: StoreFiles = { makeFolder, writeNew, link: linkOrCopy, rename: turn, remove };

/** Node's own way to make several never returns where one can neither be nor be made. */
async function makeFolder(path: string): Promise<void> {
  const missing: string[] = [];
  for (let at = path; missing.length < MAX_MISSING && !(await isThere(at)); at = dirname(at)) {
    missing.push(at);
  }
  for (const folder of missing.reverse()) {
    await mkdir(folder, OWNERS_ALONE).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "EEXIST") throw error;
    });
    await syncFolder(dirname(folder));
  }
}

async function writeNew(path: string, bytes: Uint8Array): Promise<void> {
  const file = await open(path, "wx");
  try {
    await file.writeFile(bytes);
    await file.sync();
  } finally {
    await file.close();
  }
}

async function linkOrCopy(from: string, to: string): Promise<void> {
  try {
    await link(from, to);
  } catch (error) {
    if (!NO_LINKS.has((error as NodeJS.ErrnoException).code ?? "")) throw error;
    await copyFile(from, to);
    const file = await open(to, "r+");
    try {
      await file.sync();
    } finally {
      await file.close();
    }
  }
}

async function turn(from: string, to: string): Promise<void> {
  // What lies in a folder is on the disk before its name is.
  if ((await stat(from)).isDirectory()) await syncFolder(from);
  await rename(from, to);
  await syncFolder(dirname(to));
}

async function remove(path: string): Promise<void> {
  await rm(path, { recursive: true, force: true });
}

async function isThere(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return false;
      throw error;
    },
  );
}

async function syncFolder(path: string): Promise<void> {
  try {
    const folder = await open(path, "r");
    try {
      await folder.sync();
    } finally {
      await folder.close();
    }
  } catch (error) {
    if (!NO_SYNC.has((error as NodeJS.ErrnoException).code ?? "")) throw error;
  }
}
