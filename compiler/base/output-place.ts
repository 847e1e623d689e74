/** Resolves the place of an output: follows links, and refuses anything that is not a file. */
import type { Stats } from "node:fs";
import { lstat, readlink, realpath } from "node:fs/promises";
import { basename, dirname, isAbsolute, join, resolve, sep } from "node:path";

interface OutputPlace {
  /** Path without links, as far as its folder exists. */
  readonly target: string;
  /** Existing file; null if there is no file. */
  readonly replaced: Stats | null;
}

/** Limit of Linux. */
const MAX_LINKS = 40;
/**
 * Target of /dev/stdout and similar: the file behind it is open elsewhere and must not be replaced.
 */
const DESCRIPTORS = /^\/proc\/\d+\/(task\/\d+\/)?fd$/;

/**
 * Returns the place of an output file: an existing file or a free name. Follows links, also
 * dangling ones; a link itself is never replaced.
 * @throws an error with a system code, or with a message about the existing object.
 */
export async function outputPlace(path: string): Promise<OutputPlace> {
  if (path.endsWith(sep)) throw systemError("EISDIR");
  let target = resolve(path);
  for (let links = 0; links <= MAX_LINKS; links++) {
    const folder = await realpath(dirname(target)).catch(absent);
    if (folder === null) return { target, replaced: null };
    target = join(folder, basename(target));
    const found = await lstat(target).catch(absent);
    if (found?.isSymbolicLink() !== true) {
      if (found !== null) expectFile(found);
      return { target, replaced: found };
    }
    if (DESCRIPTORS.test(folder)) throw new Error("an open descriptor; use the name of a file");
    const next = await readlink(target);
    target = isAbsolute(next) ? next : join(folder, next);
  }
  throw systemError("ELOOP");
}

/** Converts "not found" to null; other errors, such as a file in the path, are rethrown. */
export function absent(error: NodeJS.ErrnoException): null {
  if (error.code === "ENOENT") return null;
  throw error;
}

/** Creates an error like the system's. */
export function systemError(code: string): Error {
  return Object.assign(new Error(code), { code });
}

function expectFile(found: Stats): void {
  if (found.isDirectory()) throw systemError("EISDIR");
  if (!found.isFile()) throw new Error(`${kindOf(found)}; only files are replaced`);
}

function kindOf(found: Stats): string {
  if (found.isCharacterDevice() || found.isBlockDevice()) return "a device";
  if (found.isFIFO()) return "a named pipe";
  return found.isSocket() ? "a socket" : "not a file";
}
