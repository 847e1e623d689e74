/** The digest of a file, read in pieces, so that its size does not matter. */
import { createHash } from "node:crypto";
import { constants } from "node:fs";
import { type FileHandle, open, stat } from "node:fs/promises";
import { NotAFileError } from "../regular-file.ts";

export interface FileDigest {
  readonly bytes: number;
  /** As 64 hexadecimal digits in lower case. */
  readonly sha256: string;
}

const CHUNK_BYTES = 2 ** 20;

/**
 * @throws NotAFileError for a folder, pipe, socket or device; the system's error where it cannot be
 * read.
 */
export async function digestOfFile(path: string): Promise<FileDigest> {
  // By name first, since to open a device may do something; by descriptor after.
  if (!(await stat(path)).isFile()) throw new NotAFileError();
  const file = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  try {
    if (!(await file.stat()).isFile()) throw new NotAFileError();
    return await digestOf(file);
  } finally {
    await file.close();
  }
}

/** Of a file that is open, from its start; where others that share it are does not matter. */
export async function digestOf(file: FileHandle): Promise<FileDigest> {
  const hash = createHash("sha256");
  const buffer = Buffer.allocUnsafe(CHUNK_BYTES);
  let bytes = 0;
  for (;;) {
    const { bytesRead } = await file.read(buffer, 0, CHUNK_BYTES, bytes);
    if (bytesRead === 0) return { bytes, sha256: hash.digest("hex") };
    hash.update(buffer.subarray(0, bytesRead));
    bytes += bytesRead;
  }
}
