/**
 * File operations of the policy store. Each is atomic if the process is killed, and durable after a
 * power loss.
 */
import { copyFile, link, mkdir, open, rename, rm, stat } from "node:fs/promises";
import { dirname } from "node:path";

export interface StoreFiles {
  /** Creates a folder for its owner only, with missing parents. */
  makeFolder(path: string): Promise<void>;
  /** Creates and syncs a file that must not exist. */
  writeNew(path: string, bytes: Uint8Array): Promise<void>;
  /** Adds a hard link, or copies and syncs if the file system has none. */
  link(from: string, to: string): Promise<void>;
  /** Renames atomically and syncs the target's parent. */
  rename(from: string, to: string): Promise<void>;
  /** Removes a file or folder if it exists. */
  remove(path: string): Promise<void>;
}

const OWNERS_ALONE = 0o700;
/** Limit of the missing parents that are created. */
const MAX_MISSING = 32;
/** Errors of file systems that lack hard links or have reached their number. */
const NO_LINKS = new Set(["EPERM", "ENOTSUP", "ENOSYS", "EMLINK", "EXDEV", "EACCES"]);
/** Errors of systems that cannot sync folders. */
const NO_SYNC = new Set(["EPERM", "EACCES", "EINVAL", "ENOSYS", "ENOTSUP", "EISDIR"]);

export const DISK: StoreFiles = {
  makeFolder,
  writeNew,
  link: linkOrCopy,
  rename: renameSynced,
  remove,
};

/** Node's recursive `mkdir` never returns if a parent neither exists nor can be created. */
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

async function renameSynced(from: string, to: string): Promise<void> {
  // A folder's content must be on disk before its name.
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
