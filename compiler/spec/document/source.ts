/** Reads bytes of files within a limit, and computes digests. */
import { createHash } from "node:crypto";
import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { InputError } from "./input-error.ts";

/** Reason why a file cannot be used, for a message. */
type Unreadable = { readonly ok: false; readonly reason: string };

/**
 * Reads a file of at most `maxBytes`. Does not throw: the caller knows where the file was named.
 */
export function readBytes(
  path: string,
  maxBytes: number,
): { readonly ok: true; readonly bytes: Buffer } | Unreadable {
  const chunks: Buffer[] = [];
  const read = readChunks(path, maxBytes, (chunk) => chunks.push(Buffer.from(chunk)));
  return read.ok ? { ok: true, bytes: Buffer.concat(chunks) } : read;
}

/** SHA-256 of a file of at most `maxBytes`, as hex. */
export function digestFile(
  path: string,
  maxBytes: number,
): { readonly ok: true; readonly sha256: string } | Unreadable {
  const hash = createHash("sha256");
  const read = readChunks(path, maxBytes, (chunk) => hash.update(chunk));
  return read.ok ? { ok: true, sha256: hash.digest("hex") } : read;
}

/** Counts the bytes read instead of trusting the file's size, which is 0 in /proc. */
function readChunks(
  path: string,
  maxBytes: number,
  take: (chunk: Buffer) => void,
): { readonly ok: true } | Unreadable {
  return withFile(path, (descriptor, size) => {
    const chunk = Buffer.allocUnsafe(MEBIBYTE);
    for (let total = 0; Math.max(total, size) <= maxBytes; ) {
      const byteCount = readSync(descriptor, chunk);
      if (byteCount === 0) return { ok: true };
      total += byteCount;
      if (total <= maxBytes) take(chunk.subarray(0, byteCount));
    }
    return { ok: false, reason: `larger than ${Math.ceil(maxBytes / MEBIBYTE)} MiB` };
  });
}

/** Reads the lines of a UTF-8 file, without their ends. */
export function linesOf(path: string, refuse: (reason: string) => never): string[] {
  const read = readBytes(path, MAX_LINES_BYTES);
  if (!read.ok) return refuse(read.reason);
  return decodeUtf8(read.bytes, path)
    .replace(/\r?\n$/, "")
    .split(/\r?\n/);
}

const MAX_LINES_BYTES = 16 * 2 ** 20;

/** SHA-256 as hex. */
export function digest(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

/**
 * Decodes UTF-8, without a byte order mark.
 * @throws InputError naming `file` if the bytes are not UTF-8.
 */
export function decodeUtf8(bytes: Uint8Array, file: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new InputError("INPUT_SYNTAX", `${file}: expected UTF-8 text, got other bytes`);
  }
}

export const MEBIBYTE = 1 << 20;

function withFile<T>(path: string, read: (descriptor: number, size: number) => T): T | Unreadable {
  let descriptor: number | null = null;
  try {
    // Opening a named pipe without O_NONBLOCK would wait for a writer.
    descriptor = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const stat = fstatSync(descriptor);
    if (stat.isDirectory()) return { ok: false, reason: "it is a folder" };
    if (!stat.isFile()) return { ok: false, reason: "it is not a regular file" };
    return read(descriptor, stat.size);
  } catch (error) {
    return { ok: false, reason: reasonOf(error) };
  } finally {
    if (descriptor !== null) closeSync(descriptor);
  }
}

function reasonOf(error: unknown): string {
  const code = error instanceof Error && "code" in error ? error.code : null;
  if (code === "ENOENT" || code === "ENOTDIR") return "no such file";
  if (code === "EACCES" || code === "EPERM") return "permission denied";
  if (typeof code === "string") return `it cannot be read: ${code}`;
  throw error;
}
