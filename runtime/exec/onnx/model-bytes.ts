/** Reads the bytes of a model for onnxruntime and checks that they are the promised ones. */
import { createHash } from "node:crypto";
import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import type { VariantFile } from "../models/executor.ts";
import { checkSelfContained } from "./onnx-tensors.ts";

/** Bytes of one read; a larger one may be cut short. */
const READ_BYTES = 2 ** 26;
/** Size limit of protobuf. */
export const MAX_MODEL_BYTES = 2 ** 31 - 1;
/** Does not block on a named pipe without a writer. */
export const OPEN_FLAGS = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);

/**
 * Reads a whole model from its open descriptor, else from its path.
 * @throws Error if the content changed since it was checked, if it refers to other files, or if it
 * cannot be read.
 */
export function modelBytes({ path, opened }: VariantFile): Uint8Array {
  const bytes = opened === undefined ? bytesAt(path) : bytesOf(opened.fd);
  if (opened !== undefined) {
    const found = createHash("sha256").update(bytes).digest("hex");
    if (found !== opened.sha256) {
      throw new Error(
        `the file changed while it was served: expected SHA-256 ${opened.sha256}, ` +
          `got ${found}; restore the old content, or restart`,
      );
    }
  }
  checkSelfContained(bytes);
  return bytes;
}

/** @throws Error of the file system, or if it is not a regular file or too large. */
function bytesAt(path: string): Uint8Array {
  const fd = openSync(path, OPEN_FLAGS);
  try {
    return bytesOf(fd);
  } finally {
    closeSync(fd);
  }
}

/** Reads from position 0, whatever the position of a shared descriptor. */
function bytesOf(fd: number): Uint8Array {
  const stats = fstatSync(fd);
  if (!stats.isFile()) throw new Error("expected a regular file");
  if (stats.size > MAX_MODEL_BYTES) {
    throw new Error(`expected at most ${MAX_MODEL_BYTES} bytes, got ${stats.size}`);
  }
  const bytes = Buffer.allocUnsafeSlow(stats.size);
  for (let at = 0; at < bytes.length; ) {
    const count = readSync(fd, bytes, at, Math.min(READ_BYTES, bytes.length - at), at);
    if (count === 0) throw new Error(`the file ends after ${at} of ${bytes.length} bytes`);
    at += count;
  }
  return bytes;
}
