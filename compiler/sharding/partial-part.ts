/** A part that is being made: each level is added once it is solved, and kept for the next try. */
import { type FileHandle, open, rm } from "node:fs/promises";
import { readRegularFile } from "stratagem-runtime/internal/regular-file";
import { UnwritableError } from "../errors.ts";
import type { PartHeader, PartLevel } from "./part.ts";
import { headerLine, levelLine, readPartText } from "./part-text.ts";

/** Of a part, whole or not. */
export const MAX_PART_BYTES = 2 ** 29;

export function partialPath(out: string): string {
  return `${out}.partial`;
}

export class PartialPart {
  /** Levels of an earlier try. */
  readonly levels: readonly PartLevel[];
  readonly #path: string;
  readonly #file: FileHandle;
  /** Of the lines, one after the other; rejects once one cannot be written. */
  #written: Promise<unknown> = Promise.resolve();

  private constructor(path: string, file: FileHandle, levels: readonly PartLevel[]) {
    this.#path = path;
    this.#file = file;
    this.levels = levels;
  }

  /** Goes on with what an earlier try of the same shard has left. @throws UnwritableError */
  static async open(out: string, header: PartHeader): Promise<PartialPart> {
    const path = partialPath(out);
    const levels = await keptLevels(path, header);
    try {
      // Written anew, since the last line of what there was may have been cut.
      const file = await open(path, "w");
      await file.writeFile([headerLine(header), ...levels.map(levelLine)].join(""));
      return new PartialPart(path, file, levels);
    } catch (error) {
      throw unwritable(path, error);
    }
  }

  /** Failures are told by `close`. */
  add(level: PartLevel): void {
    this.#written = this.#written.then(() => this.#file.appendFile(levelLine(level)));
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

  /** It is needed no longer. */
  async remove(): Promise<void> {
    await rm(this.#path, { force: true });
  }
}

/** None where there is no part, or one of something else. */
async function keptLevels(path: string, header: PartHeader): Promise<readonly PartLevel[]> {
  const file = await readRegularFile(path, MAX_PART_BYTES).catch(() => null);
  if (file === null || file.isTooLarge) return [];
  const part = readPartText(file.bytes.toString());
  const isSame =
    part?.header.fleet === header.fleet &&
    part.header.shard.number === header.shard.number &&
    part.header.shard.of === header.shard.of;
  return isSame ? part.levels : [];
}

function unwritable(path: string, error: unknown): UnwritableError {
  const { code, message } = error as NodeJS.ErrnoException;
  return new UnwritableError(path, code ?? message);
}
