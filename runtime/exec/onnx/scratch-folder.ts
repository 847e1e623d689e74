/**
 * Folders for files of a moment that a worker writes. The server names them, so that it can remove
 * what one leaves that was killed.
 */
import { randomUUID } from "node:crypto";
import { lstatSync, mkdirSync, rmdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Memory that Linux shows as a folder: often to be written where no disk is. */
const SHARED_MEMORY = "/dev/shm";

/** Of one worker, in the order in which it tries them; nobody else knows the name. */
export function scratchPaths(): string[] {
  const name = `stratagem-worker-${randomUUID()}`;
  const folders = process.platform === "linux" ? [tmpdir(), SHARED_MEMORY] : [tmpdir()];
  return folders.map((folder) => join(folder, name));
}

/** Makes the first that can be made, for its user alone. @returns null where none can. */
export function makeScratch(paths: readonly string[]): string | null {
  for (const path of paths) {
    try {
      mkdirSync(path, { mode: 0o700 });
      return path;
    } catch {
      // It is there already, or it cannot be: the next one lies elsewhere.
      if (isOurs(path)) return path;
    }
  }
  return null;
}

/** Removes one that is empty: another model may still write to it. */
export function leaveScratch(path: string): void {
  try {
    rmdirSync(path);
  } catch {
    // It goes with the last of them, or with the worker.
  }
}

/** Removes what a worker that has ended has left. */
export function removeScratch(paths: readonly string[]): void {
  for (const path of paths.filter(isOurs)) {
    try {
      rmSync(path, { recursive: true, force: true });
    } catch {
      // A disk that went away has taken it along.
    }
  }
}

/** Once it is gone, anybody may make one of its name. */
function isOurs(path: string): boolean {
  try {
    const found = lstatSync(path);
    return found.isDirectory() && found.uid === (process.getuid?.() ?? found.uid);
  } catch {
    return false;
  }
}
