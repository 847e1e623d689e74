/** Reads a file of any name without blocking and within a limit. */
import { constants } from "node:fs";
import { type FileHandle, open, stat } from "node:fs/promises";

interface RegularFile {
  readonly bytes: Buffer;
  /** Whether the file is larger than the limit; `bytes` are then not all. */
  readonly isTooLarge: boolean;
}

const CHUNK_BYTES = 2 ** 16;

/** Neither file nor folder: opening it may block, and reading it may never end. */
export class NotAFileError extends Error {
  constructor() {
    super("not a file");
    this.name = "NotAFileError";
  }
}

/**
 * Reads all bytes of a regular file. It is opened once, so that the checked file is the one that is
 * read, and the limit applies to the bytes read: a file may grow, and files of /proc report a size
 * of 0.
 * @throws NotAFileError for a folder, pipe, socket or device; the system's error if it cannot be
 * read.
 */
export async function readRegularFile(path: string, maxBytes: number): Promise<RegularFile> {
  const { file, size } = await openRegular(path);
  try {
    if (size > maxBytes) return { bytes: Buffer.alloc(0), isTooLarge: true };
    const chunks: Buffer[] = [];
    let byteCount = 0;
    // Reading one byte more than the size shows the end of the file.
    for (let wanted = size + 1; ; wanted = CHUNK_BYTES) {
      const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(wanted), 0, wanted);
      if (bytesRead === 0) return { bytes: Buffer.concat(chunks, byteCount), isTooLarge: false };
      chunks.push(buffer.subarray(0, bytesRead));
      byteCount += bytesRead;
      if (byteCount > maxBytes) return { bytes: Buffer.concat(chunks), isTooLarge: true };
    }
  } finally {
    await file.close();
  }
}

/** Opens a regular file; the caller closes it. @throws as `readRegularFile`. */
export async function openRegular(path: string): Promise<{ file: FileHandle; size: number }> {
  // Checked by name first, since opening a device may have effects; by descriptor after, since the
  // name may have changed. O_NONBLOCK keeps the open of a pipe from waiting for its writer.
  if (!(await stat(path)).isFile()) throw new NotAFileError();
  const file = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  const stats = await file.stat();
  if (stats.isFile()) return { file, size: stats.size };
  await file.close();
  throw new NotAFileError();
}
