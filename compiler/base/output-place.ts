/** Where an output really goes: links are followed, and what is no file is refused by name. */
import type { Stats } from "node:fs";
import { lstat, readlink, realpath } from "node:fs/promises";
import { basename, dirname, isAbsolute, join, resolve, sep } from "node:path";

interface OutputPlace {
  /** Path without links, as far as its folder is there. */
  readonly target: string;
  /** Of the file that is there; null where nothing is. */
  readonly replaced: Stats | null;
}

/** As Linux has it. */
const MAX_LINKS = 40;
/** Such as /dev/stdout leads to: a file behind it is open elsewhere, and must not be replaced. */
const DESCRIPTORS = /^\/proc\/\d+\/(task\/\d+\/)?fd$/;

/**
 * A file that is to be written: one that is there, or a name that is free. Links lead on, also one
 * whose target is missing; a link itself is never replaced.
 * @throws an error with a code of the system, or whose message says what is there instead.
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
    if (DESCRIPTORS.test(folder)) throw new Error("an open descriptor; give the name of a file");
    const next = await readlink(target);
    target = isAbsolute(next) ? next : join(folder, next);
  }
  throw systemError("ELOOP");
}

/** A name that is free is no failure; one below a file is. */
export function absent(error: NodeJS.ErrnoException): null {
  if (error.code === "ENOENT") return null;
  throw error;
}

/** An error as the system throws them. */
export function systemError(code: string): Error {
  return Object.assign(new Error(code), { code });
}

function expectFile(found: Stats): void {
  if (found.isDirectory()) throw systemError("EISDIR");
  if (!found.isFile()) throw new Error(`${kindOf(found)}; only a file is replaced`);
}

function kindOf(found: Stats): string {
  if (found.isCharacterDevice() || found.isBlockDevice()) return "a device";
  if (found.isFIFO()) return "a named pipe";
  return found.isSocket() ? "a socket" : "no file";
}
