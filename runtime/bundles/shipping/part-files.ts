/** Files of a bundle in a folder, each compared with its expected digest. */

import { createHash } from "node:crypto";
import { join } from "node:path";
import { RuntimeError } from "../../base/errors.ts";
import { NoOnnxError } from "../../exec/files/onnx-tensors.ts";
import { closeModel, openModel } from "../../exec/files/whole-model.ts";
import { digestOfFile, type FileDigest } from "./file-digest.ts";
import type { ShippedPart } from "./parts.ts";

/** A part that was found and has the expected digest. */
export interface PartFile extends ShippedPart {
  readonly path: string;
  readonly bytes: number;
  /** The whole model if it lies in several files, which are shipped as one. */
  readonly content?: Uint8Array;
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
    const { place, sha256, ...file } = await namedPart(path, part.sha256);
    if (sha256 !== part.sha256) {
      const expected = `expected the file the bundle was compiled for, SHA-256 ${part.sha256}`;
      throw new RuntimeError("RUNTIME_MODEL", `${place}: ${expected}, got ${sha256}`);
    }
    found.push({ ...part, path, ...file });
  }
  return found;
}

interface FoundPart extends FileDigest {
  /** Path, and those of the other files of a model. */
  readonly place: string;
  readonly content?: Uint8Array;
}

/**
 * Computes the digest of a part. @param wanted digest that saves looking for further files.
 * @throws Error of the file system, or if the values of a model in several files cannot be read.
 */
export async function partAt(path: string, wanted: string): Promise<FoundPart> {
  const own = { ...(await digestOfFile(path)), place: path };
  if (own.sha256 === wanted) return own;
  const model = await openModel(path).catch((error: unknown) => {
    if (error instanceof NoOnnxError) return null;
    throw error;
  });
  if (model === null) return own;
  await closeModel(model);
  const { content, data } = model;
  if (data.length === 0) return own;
  const place = [path, ...data.map(({ location }) => location)].join(" with ");
  const sha256 = createHash("sha256").update(content).digest("hex");
  return { place, content, bytes: content.length, sha256 };
}

/** Whether a file exists with a digest; false also if it cannot be read. */
export async function isFileOf(path: string, sha256: string): Promise<boolean> {
  const found = await partAt(path, sha256).catch(() => null);
  return found?.sha256 === sha256;
}

async function namedPart(path: string, wanted: string): Promise<FoundPart> {
  try {
    return await partAt(path, wanted);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const reason = code === "ENOENT" ? "no such file" : (code ?? message);
    const expected = `expected a file that the bundle names, got: ${reason}`;
    throw new RuntimeError("RUNTIME_MODEL", `${path}: ${expected}; --models names the folder`);
  }
}
