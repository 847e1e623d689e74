/** Reads a bundle's file. */
import { createHash } from "node:crypto";
import { BundleError } from "../base/bundle-error.ts";
import { RuntimeError } from "../base/errors.ts";
import { NotAFileError, readRegularFile } from "../base/regular-file.ts";
import type { Bundle } from "../bundle/schema.ts";
import { readBundle } from "./read-bundle.ts";

/** A bundle of 200 levels is about 1.3 MiB. */
export const MAX_BUNDLE_BYTES = 64 * 2 ** 20;

export interface LoadOptions {
  /** Larger files are refused; no more than this is read of a file that grows. */
  readonly maxBytes?: number;
}

export interface LoadedBundle {
  readonly bundle: Bundle;
  readonly path: string;
  readonly byteCount: number;
  /** Digest of the whole file. */
  readonly sha256: string;
}

/**
 * Reads and checks a bundle; the result is frozen and safe to look decisions up in.
 * @throws BundleError if the file is refused, RuntimeError if it cannot be read; the message begins
 * with the path.
 */
export async function loadBundle(path: string, options: LoadOptions = {}): Promise<LoadedBundle> {
  return bundleOfBytes(path, await readBundleFile(path, options));
}

/**
 * Decodes and checks the bytes of a file. @param path path for messages.
 * @throws BundleError if it is refused; the message begins with the path.
 */
export async function bundleOfBytes(path: string, bytes: Uint8Array): Promise<LoadedBundle> {
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  try {
    return { bundle: await readBundle(bytes), path, byteCount: bytes.length, sha256 };
  } catch (error) {
    if (!(error instanceof BundleError)) throw error;
    throw new BundleError(error.code, `${path}: ${error.message}`);
  }
}

/**
 * Reads all bytes of a bundle's file; checks only their number.
 * @throws BundleError BUNDLE_TOO_LARGE, RuntimeError RUNTIME_UNREADABLE
 */
export async function readBundleFile(
  path: string,
  { maxBytes = MAX_BUNDLE_BYTES }: LoadOptions = {},
): Promise<Uint8Array> {
  const { bytes, isTooLarge } = await readRegularFile(path, maxBytes).catch((error) => {
    if (error instanceof NotAFileError) throw unreadable(path, error.message);
    const { code } = error as NodeJS.ErrnoException;
    throw unreadable(path, code === "ENOENT" ? "no such file" : String(code ?? error));
  });
  if (!isTooLarge) return bytes;
  throw new BundleError(
    "BUNDLE_TOO_LARGE",
    `${path}: expected at most ${maxBytes} bytes, got more; compile fewer levels or a coarser grid`,
  );
}

function unreadable(path: string, reason: string): RuntimeError {
  return new RuntimeError(
    "RUNTIME_UNREADABLE",
    `${path}: expected a readable policy bundle, got: ${reason}; ` +
      "give a file that stratagem compile wrote",
  );
}
