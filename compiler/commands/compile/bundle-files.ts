/** Files that a bundle names and that lie beside it. */
import { createHash } from "node:crypto";
import { dirname, join } from "node:path";
import { readRegularFile } from "stratagem-runtime/internal/base/regular-file";
import type { WrittenFile } from "../../base/atomic-write.ts";
import type { BundleFile } from "../../methods/method.ts";

/** Limit of Protobuf, the format of models. */
const MAX_MODEL_BYTES = 2 ** 31 - 1;

/** Returns the paths of the files. @param out path of the bundle. */
export function pathsBeside(out: string, files: readonly BundleFile[]): WrittenFile[] {
  return files.map(({ file, bytes }) => ({ path: join(dirname(out), file), bytes }));
}

/**
 * Reads the existing file for comparison; null if it does not exist. A longer file is read only up
 * to the first difference in length.
 * @throws NotAFileError, or the system's error.
 */
export async function existingFile(path: string, newByteCount: number): Promise<Buffer | null> {
  try {
    return (await readRegularFile(path, newByteCount)).bytes;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
}

/** Returns the names of files that are missing or would change. */
export async function filesThatDiffer(
  out: string,
  files: readonly BundleFile[],
): Promise<readonly string[]> {
  const differ: string[] = [];
  for (const { file, sha256 } of files) {
    const path = join(dirname(out), file);
    const bytes = await existingFile(path, MAX_MODEL_BYTES).catch(() => null);
    const found = bytes === null ? null : createHash("sha256").update(bytes).digest("hex");
    if (found !== sha256) differ.push(file);
  }
  return differ;
}
