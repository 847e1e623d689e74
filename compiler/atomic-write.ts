import { randomUUID } from "node:crypto";
import { mkdir, open, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { UnwritableError } from "./errors.ts";

/** Writes a file, making its last folder if need be, so that a reader sees the old bytes or the new ones and never a part: temporary file, fsync, rename. @throws UnwritableError */
export async function writeAtomically(path: string, bytes: Uint8Array): Promise<void> {
  try {
    await replaceFile(path, bytes);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new UnwritableError(path, code ?? String(error));
  }
}

async function replaceFile(path: string, bytes: Uint8Array): Promise<void> {
  const directory = dirname(path);
  // One level only: recursive creation never returns where a folder can neither exist nor be made, as under /proc.
  await mkdir(directory).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "EEXIST") throw error;
  });
  const temporary = join(directory, `.stratagem.tmp-${randomUUID()}`);
  try {
    const file = await open(temporary, "wx");
    try {
      await file.writeFile(bytes);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
  await syncDirectory(directory);
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
