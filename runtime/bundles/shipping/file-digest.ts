/** Digest of a file, read in pieces, so that files of any size are possible. */
import { createHash } from "node:crypto";
import type { FileHandle } from "node:fs/promises";
import { openRegular } from "../../base/regular-file.ts";

export interface FileDigest {
  readonly bytes: number;
  /** 64 hexadecimal digits in lower case. */
  readonly sha256: string;
}

const CHUNK_BYTES = 2 ** 20;

/**
 * @throws NotAFileError for a folder, pipe, socket or device; the system's error if it cannot be
 * read.
 */
export async function digestOfFile(path: string): Promise<FileDigest> {
  const { file } = await openRegular(path);
  try {
    return await digestOf(file);
  } finally {
    await file.close();
  }
}

/**
 * Computes the digest of an open file from its start, whatever the position of a shared descriptor.
 */
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
