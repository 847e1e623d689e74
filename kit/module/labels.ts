/** Lists of labels: in the options, or a file with one in each line. */
import { readFileSync } from "node:fs";
import { isAbsolute, join, normalize } from "node:path";
import type { OptionReader } from "./options.ts";

const MAX_LABELS = 10_000_000;

/**
 * Reads the option `labels`; null where it is not given.
 * @throws TypeError if it is neither a list of texts nor a file of the folder.
 */
export function labelsOf(options: OptionReader, folder: string): readonly string[] | null {
  const value = options.raw("labels");
  if (value === undefined) return null;
  if (typeof value === "string") return linesOf(fileOf(options, "labels", folder));
  const isList = Array.isArray(value) && value.length > 0 && value.length <= MAX_LABELS;
  if (isList && value.every((label) => typeof label === "string")) return value as string[];
  throw options.unfit("labels", "a list of texts, or a file with one in each line");
}

/**
 * The content of a file that an option names, in the folder of the models.
 * @throws TypeError if it is outside of it, or cannot be read.
 */
export function fileOf(options: OptionReader, name: string, folder: string): string {
  const file = options.text(name);
  const path = normalize(file);
  if (isAbsolute(path) || path.startsWith("..")) {
    throw options.unfit(name, "a file in the folder of the models");
  }
  try {
    return readFileSync(join(folder, path), "utf8");
  } catch (error) {
    const { code = "no reason" } = error as NodeJS.ErrnoException;
    throw options.unfit(name, `a file that can be read in ${folder} (${code})`);
  }
}

/** Spaces are labels too; the end of the last line is no line. */
function linesOf(text: string): string[] {
  const lines = text.replaceAll("\r\n", "\n").split("\n");
  if (lines.at(-1) === "") lines.pop();
  return lines;
}
