/** Files that a bundle names, which lie beside it. */
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { WrittenFile } from "../atomic-write.ts";
import type { BundleFile } from "../methods/method.ts";

/** Where they are written. @param out path of the bundle. */
export function pathsBeside(out: string, files: readonly BundleFile[]): WrittenFile[] {
  return files.map(({ file, bytes }) => ({ path: join(dirname(out), file), bytes }));
}

/** Names of those that are not there, or not as they would be written. */
export async function filesThatDiffer(
  out: string,
  files: readonly BundleFile[],
): Promise<readonly string[]> {
  const differ: string[] = [];
  for (const { file, sha256 } of files) {
    const bytes = await readFile(join(dirname(out), file)).catch(() => null);
    const found = bytes === null ? null : createHash("sha256").update(bytes).digest("hex");
    if (found !== sha256) differ.push(file);
  }
  return differ;
}
