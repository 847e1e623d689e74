/**
 * Fetches models of a cluster by digest from any object store of its NATS, such as the stores that
 * bundles are followed from.
 */
import { randomUUID } from "node:crypto";
import { open, rename, rm } from "node:fs/promises";
import { Deadline } from "../../base/deadline.ts";
import { RuntimeError } from "../../base/errors.ts";
import { digestOfFile } from "../../bundles/shipping/file-digest.ts";
import { ClusterAwayError } from "./away-error.ts";
import type { ClusterConnection } from "./connection.ts";
import type { FoundObject, NatsLink, ObjectBucket } from "./nats-packages.ts";

interface Found {
  readonly bucket: ObjectBucket;
  readonly object: FoundObject;
}

/** Limit of a model's size. */
const MAX_MODEL_BYTES = 16 * 2 ** 30;
/** Limit of finding a model, and of a pause while it is read. */
const TIMEOUT_MS = 30_000;
/** Least rate of a store, bytes per ms. */
const MIN_RATE = 4;

/**
 * Downloads the file with a digest to a path, completely or not at all.
 * @param sha256 64 hexadecimal digits.
 * @throws ClusterAwayError if NATS is unreachable. @throws RuntimeError RUNTIME_MODEL if no object
 * has that digest, RUNTIME_DIGEST if the content does not match.
 */
export async function fetchModel(
  connection: ClusterConnection,
  sha256: string,
  path: string,
  signal: AbortSignal,
  timeoutMs = TIMEOUT_MS,
): Promise<void> {
  const { link, url } = connection;
  if (link === null)
    throw new ClusterAwayError(`${url.text}: expected a model, but NATS is unreachable`);
  const part = `${path}.${randomUUID()}.part`;
  const deadline = new Deadline({ timeoutMs, minRate: MIN_RATE, signal });
  try {
    await answering(url.text, async () => {
      const found = await Promise.race([foundObject(connection, link, sha256), deadline.passed]);
      if (found === null) {
        const expected = `expected an object with SHA-256 ${sha256} in one of its object stores`;
        throw new RuntimeError("RUNTIME_MODEL", `${url.text}: ${expected}, got none`);
      }
      await download(found, part, deadline);
    });
    const { sha256: got } = await digestOfFile(part);
    if (got !== sha256) {
      const message = `${url.text}: expected a model with SHA-256 ${sha256}, got ${got}`;
      throw new RuntimeError("RUNTIME_DIGEST", message);
    }
    await rename(part, path);
  } finally {
    deadline.end();
    await rm(part, { force: true });
  }
}

async function foundObject(
  { packages }: ClusterConnection,
  link: NatsLink,
  sha256: string,
): Promise<Found | null> {
  const digest = Buffer.from(sha256, "hex").toString("base64url");
  const stores = new packages.Objm(link);
  for await (const { bucket: name } of stores.list()) {
    const bucket = await stores.open(name);
    const objects = await bucket.list();
    const object = objects.find((one) => !one.deleted && digestOf(one) === digest);
    if (object !== undefined) return { bucket, object };
  }
  return null;
}

/** Digest in base64url without padding, which some clients omit. */
function digestOf({ digest }: FoundObject): string {
  return digest.replace("SHA-256=", "").replaceAll("=", "");
}

async function download(
  { bucket, object: { name, size } }: Found,
  path: string,
  deadline: Deadline,
): Promise<void> {
  if (size > MAX_MODEL_BYTES) {
    const expected = `expected at most ${MAX_MODEL_BYTES} bytes of ${name}, got ${size}`;
    throw new RuntimeError("RUNTIME_MODEL", expected);
  }
  const { passed } = deadline;
  const content = await Promise.race([bucket.get(name), passed]);
  if (content === null) throw new Error(`${name} was deleted meanwhile`);
  const output = await open(path, "wx");
  const chunks = content.data[Symbol.asyncIterator]();
  try {
    for (;;) {
      const { value, done } = await Promise.race([chunks.next(), passed]);
      if (done === true) break;
      deadline.extend(value.length);
      await output.appendFile(value);
    }
    const error = await Promise.race([content.error, passed]);
    if (error instanceof Error) throw error;
    await output.sync();
  } finally {
    // Ends a stream that has stopped.
    void chunks.return?.()?.catch(() => {});
    await output.close();
  }
}

/** @throws ClusterAwayError for errors of NATS; errors of the disk are rethrown. */
async function answering<T>(where: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const isKnown = error instanceof RuntimeError || (error instanceof Error && "path" in error);
    if (isKnown || (error instanceof Error && error.name === "AbortError")) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw new ClusterAwayError(`${where}: expected a model, got: ${reason}`);
  }
}
