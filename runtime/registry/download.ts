/**
 * Downloads a blob into a file: resumes an earlier attempt and verifies the digest of the file on
 * disk.
 */

import { constants } from "node:fs";
import { type FileHandle, open, rm } from "node:fs/promises";
import { RuntimeError } from "../base/errors.ts";
import { causeOf } from "../base/http-client.ts";
import { digestOf } from "../bundles/shipping/file-digest.ts";
import { Filling } from "./filling.ts";
import { digestError } from "./registry-errors.ts";
import type { Transport } from "./transport.ts";

interface WantedBlob {
  /** 64 lower-case hexadecimal digits. */
  readonly sha256: string;
  /** Exact size in bytes, if known. */
  readonly size?: number | undefined;
}

export interface DownloadOptions {
  /** Whether to resume an earlier attempt; by default false. */
  readonly resume?: boolean | undefined;
}

const FLAGS = constants.O_RDWR | constants.O_CREAT | (constants.O_NOFOLLOW ?? 0);

/**
 * Downloads a blob into a file and syncs it. An interrupted download stays for the next attempt;
 * content with a wrong digest is removed.
 * @param path of a file that is not read yet; a link is refused.
 * @returns bytes received from the registry.
 * @throws RuntimeError RUNTIME_REGISTRY, RUNTIME_CREDENTIALS, RUNTIME_DIGEST, RUNTIME_UNWRITABLE.
 */
export async function download(
  transport: Transport,
  url: URL,
  wanted: WantedBlob,
  path: string,
  { resume = false }: DownloadOptions = {},
): Promise<number> {
  const file = await naming(path, () => open(path, FLAGS, 0o666));
  try {
    const kept = resume ? await keptBytes(file, path) : 0;
    if (kept > 0 && (await hasDigest(file, wanted))) return 0;
    const first = await filled(new Filling(transport, url, wanted, file, kept), file, path);
    if (await hasDigest(file, wanted)) return first.receivedBytes;
    let { receivedBytes } = first;
    if (first.isKept) {
      // The earlier attempt left other content, so start again once.
      const again = await filled(new Filling(transport, url, wanted, file, 0), file, path);
      receivedBytes += again.receivedBytes;
    }
    const { sha256 } = await digestOf(file);
    if (sha256 === wanted.sha256) return receivedBytes;
    await rm(path, { force: true });
    throw digestError(`${transport.where}: sha256:${wanted.sha256}`, wanted.sha256, sha256);
  } finally {
    await file.close();
  }
}

async function filled(filling: Filling, file: FileHandle, path: string): Promise<Filling> {
  await naming(path, async () => {
    await filling.fill();
    await file.truncate(filling.bytes);
    await file.sync();
  });
  return filling;
}

async function keptBytes(file: FileHandle, path: string): Promise<number> {
  const stats = await file.stat();
  if (stats.isFile()) return stats.size;
  throw new RuntimeError("RUNTIME_UNWRITABLE", `${path}: expected a file, got something else`);
}

async function hasDigest(file: FileHandle, { sha256 }: WantedBlob): Promise<boolean> {
  return (await digestOf(file)).sha256 === sha256;
}

/** Adds the path to the system's errors. */
async function naming<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const isOfSystem = error instanceof Error && "syscall" in error;
    if (!isOfSystem) throw error;
    const expected = "expected a writable file";
    throw new RuntimeError("RUNTIME_UNWRITABLE", `${path}: ${expected}, got: ${causeOf(error)}`);
  }
}
