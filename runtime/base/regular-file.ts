/** Reads a file that somebody named, whatever it is, without waiting and within a limit. */
import { constants } from "node:fs";
import { type FileHandle, open, stat } from "node:fs/promises";

interface RegularFile {
  readonly bytes: Buffer;
  /** Whether there was more than the limit: then `bytes` are not all. */
  readonly isTooLarge: boolean;
}

const CHUNK_BYTES = 2 ** 16;

/** What is neither file nor folder: opening it may wait for ever, reading it never end. */
export class NotAFileError extends Error {
  constructor() {
    super("not a file");
    this.name = "NotAFileError";
  }
}

/**
 * All bytes of a regular file. It is opened once, so that what was checked is what is read, and the
 * limit counts what is read: a file may grow, and those of /proc say that they are empty.
 * @throws NotAFileError for a folder, pipe, socket or device; the system's error where it cannot be
 * read.
 */
export async function readRegularFile(path: string, maxBytes: number): Promise<RegularFile> {
  const { file, size } = await openRegular(path);
  try {
    if (size > maxBytes) return { bytes: Buffer.alloc(0), isTooLarge: true };
    const chunks: Buffer[] = [];
    let byteCount = 0;
    // One byte more than the file has shows its end.
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

/** A regular file and its size; the caller closes it. @throws as `readRegularFile`. */
export async function openRegular(path: string): Promise<{ file: FileHandle; size: number }> {
  // By name first, since to open a device may do something; by descriptor after, since the name
  // may have changed. Without O_NONBLOCK the opening of a pipe would wait for its writer.
  if (!(await stat(path)).isFile()) throw new NotAFileError();
  const file = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  const stats = await file.stat();
  if (stats.isFile()) return { file, size: stats.size };
  await file.close();
  throw new NotAFileError();
}
