/** Writes files so that a reader sees the old or the new bytes, never a part. */
import type { Stats } from "node:fs";
import {
  access,
  constants,
  type FileHandle,
  mkdir,
  open,
  rename,
  rm,
  stat,
} from "node:fs/promises";
import { dirname, join } from "node:path";
import { UnwritableError } from "./errors.ts";
import { absent, outputPlace, systemError } from "./output-place.ts";
import { ownedName, removeLeftOvers } from "./owned-names.ts";

export interface WrittenFile {
  readonly path: string;
  /** A function if not all files should be in memory at once. */
  readonly bytes: Uint8Array | (() => Uint8Array);
}

const TEMPORARY = ".stratagem.tmp-";
/** Mode for the owner until the file is complete, and the mode of new files before the umask. */
const PRIVATE_MODE = 0o600;
const NEW_MODE = 0o666;
const PERMISSIONS = 0o777;
const STICKY = 0o1000;
/** Error codes of systems without such calls, or without permission for them. */
const NOT_PERMITTED = new Set(["EPERM", "EACCES", "EINVAL", "ENOSYS", "ENOTSUP", "EISDIR"]);

/**
 * Writes a file, creating its last folder if needed, so that a reader sees the old or the new bytes
 * and never a part: temporary file, fsync, rename. Follows links, keeps permissions, and removes
 * leftovers of killed runs beside the file. The target can be changed by others between the last
 * check and the rename: the name is then replaced, whatever it has become.
 * @throws UnwritableError
 */
export async function writeAtomically(path: string, bytes: Uint8Array): Promise<void> {
  await writeAllAtomically([{ path, bytes }]);
}

/**
 * Writes several files the same way. All are on disk before the first is renamed, so a failure or
 * abort before that changes none; the last one is renamed last.
 * @throws UnwritableError, and the signal's reason.
 */
export async function writeAllAtomically(
  files: readonly WrittenFile[],
  signal?: AbortSignal,
): Promise<void> {
  const written: { path: string; target: string; temporary: string }[] = [];
  const swept = new Set<string>();
  try {
    for (const { path, bytes } of files) {
      const content = typeof bytes === "function" ? bytes() : bytes;
      await naming(path, async () => {
        const { target, replaced } = await outputPlace(path);
        const folder = dirname(target);
        const temporary = join(folder, ownedName(TEMPORARY));
        await makeFolder(folder);
        written.push({ path, target, temporary });
        await usingNew(temporary, replaced === null ? NEW_MODE : PRIVATE_MODE, async (file) => {
          // Before writing, since leftovers may be what fills the disk.
          if (!swept.has(folder)) await sweep(folder, file);
          swept.add(folder);
          await file.writeFile(content);
          if (replaced !== null) await keepPermissions(file, replaced);
          await file.sync();
        });
      });
    }
    signal?.throwIfAborted();
    for (const { path, target, temporary } of written) {
      await naming(path, async () => {
        await outputPlace(path);
        await rename(temporary, target);
      });
    }
  } catch (error) {
    // The cause of the failure may also prevent the removal, and is already reported.
    for (const { temporary } of written) await rm(temporary, { force: true }).catch(() => {});
    throw error;
  }
  const folders = new Map(written.map(({ path, target }) => [dirname(target), path]));
  for (const [folder, path] of folders) await naming(path, () => syncDirectory(folder));
}

/**
 * Checks that a file can be written, before the work that produces it: its place must not have
 * anything but a writable file, and its folder must be writable or creatable.
 * @throws UnwritableError
 */
export async function expectWritable(path: string): Promise<void> {
  await naming(path, async () => {
    const { target, replaced } = await outputPlace(path);
    if (replaced !== null) await access(target, constants.W_OK);
    const folder = dirname(target);
    const home = (await stat(folder).catch(absent)) === null ? dirname(folder) : folder;
    await access(home, constants.W_OK);
    const found = await stat(home);
    if (!found.isDirectory()) throw systemError("ENOTDIR");
    if (replaced !== null && !mayRename(replaced, found)) throw systemError("EPERM");
  });
}

/** In a sticky folder such as /tmp only owners can replace files. */
function mayRename(file: Stats, folder: Stats): boolean {
  const user = process.getuid?.() ?? 0;
  return (folder.mode & STICKY) === 0 || [0, file.uid, folder.uid].includes(user);
}

async function naming(path: string, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw new UnwritableError(path, code ?? message);
  }
}

async function makeFolder(folder: string): Promise<void> {
  // One level only: recursive creation never returns if a folder can neither exist nor be made, as
  // under /proc.
  await mkdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "EEXIST") throw error;
  });
}

async function usingNew(
  path: string,
  mode: number,
  work: (file: FileHandle) => Promise<void>,
): Promise<void> {
  const file = await open(path, "wx", mode);
  try {
    await work(file);
  } finally {
    await file.close();
  }
}

async function sweep(folder: string, fresh: FileHandle): Promise<void> {
  await removeLeftOvers(folder, TEMPORARY, (await fresh.stat()).mtimeMs);
}

/**
 * Copies owner, group and permissions of the replaced file as far as permitted. If the group cannot
 * be kept, its members get the permissions of others, as in vim.
 */
async function keepPermissions(file: FileHandle, { uid, gid, mode }: Stats): Promise<void> {
  const own = await file.stat();
  const isGroupKept =
    (own.uid === uid && own.gid === gid) ||
    (await isPermitted(file.chown(uid, gid))) ||
    own.gid === gid ||
    (await isPermitted(file.chown(own.uid, gid)));
  const kept = mode & PERMISSIONS;
  await isPermitted(file.chmod(isGroupKept ? kept : (kept & 0o707) | ((kept & 0o007) << 3)));
}

async function isPermitted(change: Promise<void>): Promise<boolean> {
  try {
    await change;
    return true;
  } catch (error) {
    if (NOT_PERMITTED.has((error as NodeJS.ErrnoException).code ?? "")) return false;
    throw error;
  }
}

/** Makes the rename itself durable, if the folder can be opened for that. */
async function syncDirectory(directory: string): Promise<void> {
  let handle: FileHandle | null = null;
  try {
    handle = await open(directory, "r");
    await handle.sync();
  } catch (error) {
    if (!NOT_PERMITTED.has((error as NodeJS.ErrnoException).code ?? "")) throw error;
  } finally {
    await handle?.close();
  }
}
