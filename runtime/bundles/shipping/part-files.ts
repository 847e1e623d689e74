/** Files of a bundle in a folder, each compared with its expected digest. */
import { join } from "node:path";
import { RuntimeError } from "../../base/errors.ts";
import { digestOfFile, type FileDigest } from "./file-digest.ts";
import type { ShippedPart } from "./parts.ts";

/** A part that was found and has the expected digest. */
export interface PartFile extends ShippedPart {
  readonly path: string;
  readonly bytes: number;
}

/**
 * Finds all parts of a bundle in a folder, one after the other.
 * @throws RuntimeError RUNTIME_MODEL for the first that is missing or differs.
 */
export async function checkedParts(
  parts: readonly ShippedPart[],
  folder: string,
): Promise<PartFile[]> {
  const found: PartFile[] = [];
  for (const part of parts) {
    const path = join(folder, part.file);
    const { bytes, sha256 } = await digestAt(path);
    if (sha256 !== part.sha256) {
      const expected = `expected the file the bundle was compiled for, SHA-256 ${part.sha256}`;
      throw new RuntimeError("RUNTIME_MODEL", `${path}: ${expected}, got ${sha256}`);
    }
    found.push({ ...part, path, bytes });
  }
  return found;
}

/** Whether a file exists with a digest; false also if it cannot be read. */
export async function isFileOf(path: string, sha256: string): Promise<boolean> {
  const found = await digestOfFile(path).catch(() => null);
  return found?.sha256 === sha256;
}

async function digestAt(path: string): Promise<FileDigest> {
  try {
    return await digestOfFile(path);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const reason = code === "ENOENT" ? "no such file" : (code ?? message);
    const expected = `expected a file that the bundle names, got: ${reason}`;
    throw new RuntimeError("RUNTIME_MODEL", `${path}: ${expected}; --models names the folder`);
  }
}
