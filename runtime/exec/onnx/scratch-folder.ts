/**
 * Folders for temporary files of a worker. The server names them, so that it can remove the files
 * of a worker that was killed.
 */
import { randomUUID } from "node:crypto";
import { lstatSync, mkdirSync, rmdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Memory that Linux shows as a folder: often writable if no disk is. */
const SHARED_MEMORY = "/dev/shm";

/** Returns the candidate folders of one worker in the order it tries them; the name is secret. */
export function scratchPaths(): string[] {
  const name = `stratagem-worker-${randomUUID()}`;
  const folders = process.platform === "linux" ? [tmpdir(), SHARED_MEMORY] : [tmpdir()];
  return folders.map((folder) => join(folder, name));
}

/** Makes the first folder that can be made, for its user only. @returns null if none can. */
export function makeScratch(paths: readonly string[]): string | null {
  for (const path of paths) {
    try {
      mkdirSync(path, { mode: 0o700 });
      return path;
    } catch {
      // It exists already, or cannot be made: then the next one is tried.
      if (isOurs(path)) return path;
    }
  }
  return null;
}

/** Removes the folder if it is empty: another model may still write to it. */
export function leaveScratch(path: string): void {
  try {
    rmdirSync(path);
  } catch {
    // It is removed with the last model, or with the worker.
  }
}

/** Removes the files left by a worker that has ended. */
export function removeScratch(paths: readonly string[]): void {
  for (const path of paths.filter(isOurs)) {
    try {
      rmSync(path, { recursive: true, force: true });
    } catch {
      // The disk is gone, and the files with it.
    }
  }
}

/** Whether the folder is this user's: after its removal, another user may make one of that name. */
function isOurs(path: string): boolean {
  try {
    const found = lstatSync(path);
    return found.isDirectory() && found.uid === (process.getuid?.() ?? found.uid);
  } catch {
    return false;
  }
}
