/** Reads access logs of any size line by line: plain or gzipped, one or several. */
import { constants } from "node:fs";
import { type FileHandle, open, readdir, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { Readable } from "node:stream";
import { StringDecoder } from "node:string_decoder";
import { createGunzip, constants as zlib } from "node:zlib";
import { InputError } from "../spec/document/input-error.ts";

/** Longest line of an access log; longer lines are skipped whole. */
const MAX_LINE_CHARACTERS = 2 ** 20;
const CHUNK_BYTES = 2 ** 20;
/** Most files that a pattern may match. */
const MAX_FILES = 10_000;
const GZIP = [0x1f, 0x8b] as const;

/**
 * Expands paths and patterns to files, each once, sorted by name. In the last part of a pattern `*`
 * matches any text and `?` any character; a file with exactly that name takes precedence.
 * @throws InputError INPUT_UNREADABLE if a pattern matches no file.
 */
export async function logPaths(named: readonly string[]): Promise<string[]> {
  const found: string[] = [];
  for (const path of named) found.push(...(await pathsOf(path)));
  return [...new Set(found)];
}

async function pathsOf(path: string): Promise<string[]> {
  if (!/[*?]/.test(basename(path)) || (await isThere(path))) return [path];
  const folder = dirname(path);
  const names = await readdir(folder).catch(() => []);
  const matching = names.filter((name) => matches(basename(path), name)).sort();
  if (matching.length > 0) return matching.slice(0, MAX_FILES).map((name) => join(folder, name));
  throw unreadableLog(path, "no file matches the pattern", "--access-log");
}

/** Matches a name against a pattern. After a mismatch, the last `*` takes one more character. */
function matches(pattern: string, name: string): boolean {
  let at = 0;
  let starAt = -1;
  let restAt = 0;
  for (let index = 0; index < name.length; ) {
    if (pattern[at] === "*") {
      starAt = at++;
      restAt = index;
    } else if (at < pattern.length && (pattern[at] === "?" || pattern[at] === name[index])) {
      at++;
      index++;
    } else if (starAt >= 0) {
      at = starAt + 1;
      index = ++restAt;
    } else return false;
  }
  while (pattern[at] === "*") at++;
  return at === pattern.length;
}

async function isThere(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

interface LogKind {
  /** Accepts a compressed file that ends in the middle because it is still being written. */
  readonly isGrowing?: boolean;
  /** Option of `serve` that writes such files, for messages; default `--access-log`. */
  readonly flag?: string;
}

/**
 * Calls back with every non-empty line, without its end; null for a line that is too long.
 * @throws InputError INPUT_UNREADABLE for a path that is not a file, or a damaged compressed file;
 * or the signal's reason if aborted.
 */
export async function eachLine(
  path: string,
  signal: AbortSignal,
  onLine: (line: string | null) => void,
  { isGrowing = false, flag = "--access-log" }: LogKind = {},
): Promise<void> {
  const unreadable = (found: string) => unreadableLog(path, found, flag);
  const file = await opened(path, unreadable);
  try {
    const splitter = new LineSplitter(onLine);
    for await (const chunk of await contentOf(file, isGrowing)) {
      signal.throwIfAborted();
      splitter.take(chunk);
    }
    splitter.end();
  } catch (error) {
    signal.throwIfAborted();
    throw unreadable(error instanceof Error ? error.message : String(error));
  } finally {
    await file.close();
  }
}

/**
 * Opens a regular file; a pipe might never end.
 * @throws InputError for anything else.
 */
async function opened(
  path: string,
  unreadable: (found: string) => InputError,
): Promise<FileHandle> {
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch((error) => {
    throw unreadable(error.code === "ENOENT" ? "no such file" : String(error.code ?? error));
  });
  if ((await file.stat()).isFile()) return file;
  await file.close();
  throw unreadable("not a file");
}

async function contentOf(file: FileHandle, isGrowing: boolean): Promise<Readable> {
  const head = Buffer.alloc(GZIP.length);
  await file.read(head, 0, head.length, 0);
  const options = { start: 0, highWaterMark: CHUNK_BYTES, autoClose: false };
  const stream = file.createReadStream(options);
  if (head[0] !== GZIP[0] || head[1] !== GZIP[1]) return stream;
  // Reads a truncated file up to its end instead of failing there.
  const finish = isGrowing ? { finishFlush: zlib.Z_SYNC_FLUSH } : {};
  const unzip = createGunzip({ chunkSize: CHUNK_BYTES, ...finish });
  stream.once("error", (error) => unzip.destroy(error));
  return stream.pipe(unzip);
}

class LineSplitter {
  readonly #onLine: (line: string | null) => void;
  readonly #decoder = new StringDecoder("utf8");
  #rest = "";
  #isTooLong = false;

  constructor(onLine: (line: string | null) => void) {
    this.#onLine = onLine;
  }

  take(chunk: Buffer): void {
    const text = this.#rest + this.#decoder.write(chunk);
    let start = 0;
    for (let end = text.indexOf("\n"); end >= 0; end = text.indexOf("\n", start)) {
      this.#emit(text.slice(start, end));
      start = end + 1;
    }
    this.#rest = text.slice(start);
    if (this.#rest.length <= MAX_LINE_CHARACTERS) return;
    this.#rest = "";
    this.#isTooLong = true;
  }

  end(): void {
    this.#emit(this.#rest + this.#decoder.end());
  }

  #emit(line: string): void {
    if (this.#isTooLong || line.length > MAX_LINE_CHARACTERS) this.#onLine(null);
    else if (line.trim() !== "") this.#onLine(line);
    this.#isTooLong = false;
  }
}

function unreadableLog(path: string, found: string, flag: string): InputError {
  const what = flag.slice(2).replace("-", " ");
  const message = `${path}: expected a readable ${what}, got: ${found}`;
  return new InputError("INPUT_UNREADABLE", `${message}; pass files written by serve ${flag}`);
}
