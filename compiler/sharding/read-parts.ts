/** Reads the given parts, including unfinished ones. */
import { stat } from "node:fs/promises";
import { NotAFileError, readRegularFile } from "stratagem-runtime/internal/base/regular-file";
import { InputError } from "../spec/document/input-error.ts";
import type { GivenPart } from "./fleet.ts";
import { readPartText } from "./part-text.ts";
import { MAX_PART_BYTES, partialPath } from "./partial-part.ts";

/** @throws InputError for a file that is not a part, or cannot be read. */
export async function readParts(paths: readonly string[]): Promise<readonly GivenPart[]> {
  const parts: GivenPart[] = [];
  for (const path of paths) {
    const found =
      (await readPart(path, path)) ??
      (await readPart(path, partialPath(path))) ??
      // It may have been completed between the two reads.
      (await readPart(path, path));
    parts.push(found ?? { path, part: null, writtenMs: null });
  }
  return parts;
}

/**
 * Returns null if the file does not exist. @param given path from the user. @param path to read.
 */
async function readPart(given: string, path: string): Promise<GivenPart | null> {
  try {
    const { bytes, isTooLarge } = await readRegularFile(path, MAX_PART_BYTES);
    if (isTooLarge) throw refusal(path, `more than ${MAX_PART_BYTES} bytes`);
    const part = readPartText(bytes.toString());
    if (part === null) throw refusal(path, "another, truncated or damaged file");
    const isPartial = path !== given;
    if (!part.isWhole && !isPartial && !given.endsWith(partialPath(""))) {
      throw refusal(path, "a truncated file");
    }
    return { path: given, part, writtenMs: (await stat(path)).mtimeMs };
  } catch (error) {
    if (error instanceof InputError) throw error;
    if (error instanceof NotAFileError) throw refusal(path, "something other than a file");
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return null;
    throw new InputError("INPUT_UNREADABLE", `${path}: cannot be read (${code ?? message})`);
  }
}

function refusal(path: string, found: string): InputError {
  const message = `${path}: expected a part written by stratagem compile --shard, got ${found}`;
  return new InputError("INPUT_PARTS", message);
}
