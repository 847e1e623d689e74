/** Writes files so that a reader sees the old bytes or the new ones, never a part. */
import { randomUUID } from "node:crypto";
import { access, constants, mkdir, open, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { UnwritableError } from "./errors.ts";

export interface WrittenFile {
  readonly path: string;
  /** A function where not all are to be in memory at once. */
  readonly bytes: Uint8Array | (() => Uint8Array);
}

/**
 * Writes a file, making its last folder if need be, so that a reader sees the old bytes or the new
 * ones and never a part: temporary file, fsync, rename.
 * @throws UnwritableError
 */
export async function writeAtomically(path: string, bytes: Uint8Array): Promise<void> {
  await writeAllAtomically([{ path, bytes }]);
}

/**
 * The same for several files. All are on the disk before the first is put in its place, so what
 * cannot be written, or is aborted before that, changes none; the last is put there last.
 * @throws UnwritableError, and the signal's reason.
 */
export async function writeAllAtomically(
  files: readonly WrittenFile[],
  signal?: AbortSignal,
): Promise<void> {
  const temporaries: string[] = [];
  try {
    for (const { path, bytes } of files) {
      const temporary = join(dirname(path), `.stratagem.tmp-${randomUUID()}`);
      temporaries.push(temporary);
      const content = typeof bytes === "function" ? bytes() : bytes;
      await naming(path, () => writeDurably(temporary, content));
    }
    signal?.throwIfAborted();
    for (const [index, { path }] of files.entries()) {
      await naming(path, () => rename(temporaries[index] ?? "", path));
    }
  } catch (error) {
    // Whatever stopped the writing may stop the removal too, and has been reported already.
    for (const temporary of temporaries) await rm(temporary, { force: true }).catch(() => {});
    throw error;
  }
  const folders = new Map(files.map(({ path }) => [dirname(path), path]));
  for (const [folder, path] of folders) await naming(path, () => syncDirectory(folder));
}

/**
 * What would refuse the writing of a file now, said before the work that makes the file: a folder
 * in its place, or a folder of its own that can neither be written to nor be made.
 * @throws UnwritableError
 */
export async function expectWritable(path: string): Promise<void> {
  await naming(path, async () => {
    const found = await stat(path).catch(absent);
    if (found?.isDirectory()) throw Object.assign(new Error(path), { code: "EISDIR" });
    const folder = dirname(path);
    const home = (await stat(folder).catch(absent)) === null ? dirname(folder) : folder;
    await access(home, constants.W_OK);
    if (!(await stat(home)).isDirectory())
      throw Object.assign(new Error(path), { code: "ENOTDIR" });
  });
}

/** A file that is not there is no failure; one below a file is. */
function absent(error: NodeJS.ErrnoException): null {
  if (error.code === "ENOENT") return null;
  throw error;
}

async function naming(path: string, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new UnwritableError(path, code ?? String(error));
  }
}

async function writeDurably(path: string, bytes: Uint8Array): Promise<void> {
  // One level only: recursive creation never returns where a folder can neither exist nor be made,
  // as under /proc.
  await mkdir(dirname(path)).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "EEXIST") throw error;
  });
  const file = await open(path, "wx");
  try {
    await file.writeFile(bytes);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Makes the rename itself durable. */
async function syncDirectory(directory: string): Promise<void> {
  const handle = await open(directory, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
