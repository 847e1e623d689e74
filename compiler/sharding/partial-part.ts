/** Unfinished part: each solved level or branch is appended and kept for the next attempt. */
import { type FileHandle, open, rm } from "node:fs/promises";
import { readRegularFile } from "stratagem-runtime/internal/base/regular-file";
import { writeAtomically } from "../base/atomic-write.ts";
import { UnwritableError } from "../base/errors.ts";
import type { Part, PartBranch, PartHeader, PartLevel } from "./part.ts";
import { branchLine, headerLine, levelLine, readPartText } from "./part-text.ts";

/** Limit of a part, complete or not. */
export const MAX_PART_BYTES = 2 ** 29;

export function partialPath(out: string): string {
  return `${out}.partial`;
}

type Kept = Pick<Part, "levels" | "branches">;

export class PartialPart {
  /** Content of an earlier attempt. */
  readonly kept: Kept;
  readonly #path: string;
  readonly #file: FileHandle;
  /** Pending writes, in order; rejects if one fails. */
  #written: Promise<unknown> = Promise.resolve();

  private constructor(path: string, file: FileHandle, kept: Kept) {
    this.#path = path;
    this.#file = file;
    this.kept = kept;
  }

  /** Continues with the content of an earlier attempt of the same shard. @throws UnwritableError */
  static async open(out: string, header: PartHeader): Promise<PartialPart> {
    const path = partialPath(out);
    const kept = await keptOf(path, header);
    const { levels, branches } = kept;
    try {
      // Rewritten atomically, since its last line may be incomplete: a crash, or a reader in
      // between, still sees the earlier content.
      const lines = [headerLine(header), ...levels.map(levelLine), ...branches.map(branchLine)];
      await writeAtomically(path, Buffer.from(lines.join("")));
      return new PartialPart(path, await open(path, "a"), kept);
    } catch (error) {
      throw unwritable(path, error);
    }
  }

  /** `close` reports failures. */
  add(level: PartLevel): void {
    this.#append(levelLine(level));
  }

  /** `close` reports failures. */
  addBranch(branch: PartBranch): void {
    this.#append(branchLine(branch));
  }

  #append(line: string): void {
    this.#written = this.#written.then(() => this.#file.appendFile(line));
    this.#written.catch(() => {});
  }

  /** @throws UnwritableError if not all could be written. */
  async close(): Promise<void> {
    try {
      await this.#written;
    } catch (error) {
      throw unwritable(this.#path, error);
    } finally {
      await this.#file.close();
    }
  }

  /** Removes it after completion. */
  async remove(): Promise<void> {
    await rm(this.#path, { force: true });
  }
}

/** Returns no levels if there is no part, or one of another compile. */
async function keptOf(path: string, header: PartHeader): Promise<Kept> {
  const nothing = { levels: [], branches: [] };
  const file = await readRegularFile(path, MAX_PART_BYTES).catch(() => null);
  if (file === null || file.isTooLarge) return nothing;
  const part = readPartText(file.bytes.toString());
  const isSame =
    part?.header.fleet === header.fleet &&
    part.header.shard.number === header.shard.number &&
    part.header.shard.of === header.shard.of;
  return isSame ? part : nothing;
}

function unwritable(path: string, error: unknown): UnwritableError {
  if (error instanceof UnwritableError) return error;
  const { code, message } = error as NodeJS.ErrnoException;
  return new UnwritableError(path, code ?? message);
}
