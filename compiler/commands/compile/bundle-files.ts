/** Files that a bundle names, which lie beside it. */
import { createHash } from "node:crypto";
import { dirname, join } from "node:path";
import { readRegularFile } from "stratagem-runtime/internal/base/regular-file";
import type { WrittenFile } from "../../base/atomic-write.ts";
import type { BundleFile } from "../../methods/method.ts";

/** Protobuf, the form of models, ends there. */
const MAX_MODEL_BYTES = 2 ** 31 - 1;

/** Where they are written. @param out path of the bundle. */
export function pathsBeside(out: string, files: readonly BundleFile[]): WrittenFile[] {
  return files.map(({ file, bytes }) => ({ path: join(dirname(out), file), bytes }));
}

/**
 * What is there to compare with: null where nothing is. Of a file with more bytes than the new one
 * only so many are read that it differs.
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

/** Names of those that are not there, or not as they would be written. */
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
