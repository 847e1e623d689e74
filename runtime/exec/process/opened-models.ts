/**
 * Model files of a server, each opened once: workers inherit exactly the file that was checked,
 * even if its name is reused.
 */
import { createHash } from "node:crypto";
import { close, fstat, open, read, type Stats } from "node:fs";
import { stat } from "node:fs/promises";
import { promisify } from "node:util";
import type { OpenedModel } from "../models/executor.ts";
import { MAX_MODEL_BYTES, OPEN_FLAGS } from "../onnx/model-bytes.ts";
import { firstAxisNames } from "../onnx/onnx-axes.ts";

// Numbers, because workers inherit numbers: an unreferenced file handle closes itself.
const openFd = promisify(open);
const closeFd = promisify(close);
const readFd = promisify(read);
const fstatFd = promisify<number, Stats>(fstat);

/** Bytes of one read, between which others get their turn. */
const READ_BYTES = 2 ** 22;

/** An opened model, and what its file says of the first dimensions of its tensors. */
export interface CheckedModel extends OpenedModel {
  /** Axis names per tensor name; tensors without one are left out. */
  readonly axisNames: Readonly<Record<string, string>>;
}

interface OpenedFile extends CheckedModel {
  /** When it was opened. */
  readonly stats: Stats;
  /** How many have it. */
  holders: number;
}

export class OpenedModels {
  readonly #files = new Map<string, OpenedFile>();
  readonly #before: OpenedModels | undefined;

  /** @param before others whose files it shares; a file is closed with its last user. */
  constructor(before?: OpenedModels) {
    this.#before = before;
  }

  /**
   * Opens a file, following links, and reads it once; later calls return the same.
   * @param wantedSha256 reuses a file of this content that was opened before, whatever the path
   * holds now.
   * @throws Error of the file system, or if it is not a file or too large.
   */
  async open(path: string, wantedSha256?: string): Promise<CheckedModel> {
    const known = this.#files.get(path);
    if (known !== undefined) return known;
    const shared = this.#before === undefined ? undefined : this.#before.#files.get(path);
    if (shared !== undefined && shared.sha256 === wantedSha256) {
      shared.holders++;
      this.#files.set(path, shared);
      return shared;
    }
    const fd = await openFd(path, OPEN_FLAGS);
    try {
      const stats = await fstatFd(fd);
      const content = await contentOf(fd, stats);
      const sha256 = digestOf(content);
      const axisNames = firstAxisNames(content);
      const file = { fd, bytes: content.length, sha256, axisNames, stats, holders: 1 };
      this.#files.set(path, file);
      return file;
    } catch (error) {
      await closeFd(fd);
      throw error;
    }
  }

  /** Returns the paths whose content differs from the one that was opened, or that are gone. */
  async changed(): Promise<string[]> {
    const changed: string[] = [];
    for (const [path, file] of this.#files) {
      const stats = await stat(path).catch(() => null);
      if (stats === null || !(await isSame(path, stats, file))) changed.push(path);
    }
    return changed;
  }

  /** Workers that are running keep theirs. */
  async close(): Promise<void> {
    const files = [...this.#files.values()];
    this.#files.clear();
    for (const file of files) file.holders--;
    const last = files.filter(({ holders }) => holders === 0);
    await Promise.all(last.map(({ fd }) => closeFd(fd)));
  }
}

/** Reads a file again only if its metadata differ. */
async function isSame(path: string, now: Stats, { stats, sha256 }: OpenedFile): Promise<boolean> {
  const [is, was] = [now, stats].map(({ dev, ino, size, mtimeMs, ctimeMs }) =>
    [dev, ino, size, mtimeMs, ctimeMs].join(),
  );
  if (is === was) return true;
  if (now.size !== stats.size) return false;
  const other = new OpenedModels();
  try {
    return (await other.open(path)).sha256 === sha256;
  } catch {
    return false;
  } finally {
    await other.close();
  }
}

function digestOf(content: Uint8Array): string {
  return createHash("sha256").update(content).digest("hex");
}

async function contentOf(fd: number, stats: Stats): Promise<Uint8Array> {
  if (!stats.isFile()) throw new Error("not a file");
  if (stats.size > MAX_MODEL_BYTES) {
    throw new Error(`${stats.size} bytes, where ONNX files have at most ${MAX_MODEL_BYTES}`);
  }
  const content = Buffer.allocUnsafeSlow(stats.size);
  for (let at = 0; at < content.length; ) {
    const length = Math.min(READ_BYTES, content.length - at);
    const { bytesRead } = await readFd(fd, content, at, length, at);
    if (bytesRead === 0) throw new Error(`a file that ends while it is read, at byte ${at}`);
    at += bytesRead;
  }
  return content;
}
