/** The bytes of a model as a worker hands them to onnxruntime: those promised, or none. */
import { createHash } from "node:crypto";
import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import type { VariantFile } from "../models/executor.ts";
import { checkSelfContained } from "./onnx-tensors.ts";

/** Bytes of one read; a larger one may be cut short. */
const READ_BYTES = 2 ** 26;
/** Protobuf counts no further. */
export const MAX_MODEL_BYTES = 2 ** 31 - 1;
/** Without waiting for whoever writes into a pipe of that name. */
export const OPEN_FLAGS = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);

/**
 * Reads a whole model, from where it is open or else from its path.
 * @throws Error if it is no longer what was checked, is not all in its file, or cannot be read.
 */
export function modelBytes({ path, opened }: VariantFile): Uint8Array {
  const bytes = opened === undefined ? bytesAt(path) : bytesOf(opened.fd);
  if (opened !== undefined) {
    const found = createHash("sha256").update(bytes).digest("hex");
    if (found !== opened.sha256) {
      throw new Error(
        `the file was changed while it is served: expected SHA-256 ${opened.sha256}, ` +
          `got ${found}; bring the old content back, or start anew`,
      );
    }
  }
  checkSelfContained(bytes);
  return bytes;
}

/** @throws Error of the file system, or if it is no file or too large. */
function bytesAt(path: string): Uint8Array {
  const fd = openSync(path, OPEN_FLAGS);
  try {
    return bytesOf(fd);
  } finally {
    closeSync(fd);
  }
}

/** From the start, wherever others that share the descriptor are. */
function bytesOf(fd: number): Uint8Array {
  const stats = fstatSync(fd);
  if (!stats.isFile()) throw new Error("expected a file");
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
