/**
 * Policies kept on disk, so that a server can start without its source: files by digest, and the
 * revisions of each policy. Source: docs/many-machines.md, "The store".
 */
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { RuntimeError } from "../../base/errors.ts";
import { digestOfFile } from "../../bundles/shipping/file-digest.ts";
import { DISK, type StoreFiles } from "./store-files.ts";
import { readRevision, StoredPolicy } from "./stored-policy.ts";

const BLOBS = join("blobs", "sha256");
const POLICIES = "policies";
const PART = ".part";
/** Age below which an unreferenced file may belong to a revision another server is storing. */
const MIN_AGE_MS = 3_600_000;
/** Age up to which an interrupted download can be resumed. */
const PART_AGE_MS = 7 * 24 * 3_600_000;

export class PolicyStore {
  readonly folder: string;
  readonly #files: StoreFiles;
  /** Digests of the files of revisions being staged, with the number of users. */
  readonly #wanted = new Map<string, number>();

  private constructor(folder: string, files: StoreFiles) {
    this.folder = folder;
    this.#files = files;
  }

  /** @throws RuntimeError RUNTIME_STORE if the folder cannot be created or written. */
  static async open(folder: string, files: StoreFiles = DISK): Promise<PolicyStore> {
    const store = new PolicyStore(folder, files);
    await namingStore(folder, async () => {
      await files.makeFolder(join(folder, BLOBS));
      await files.makeFolder(join(folder, POLICIES));
    });
    return store;
  }

  /** @param key name of the policy's folder. */
  async policy(key: string): Promise<StoredPolicy> {
    const folder = join(this.folder, POLICIES, key);
    await namingStore(folder, () => this.#files.makeFolder(join(folder, "revisions")));
    return new StoredPolicy(folder, this.#files);
  }

  /** Path of the file with a digest, whether it exists or not. */
  blobOf(sha256: string): string {
    return join(this.folder, BLOBS, sha256);
  }

  async has(sha256: string): Promise<boolean> {
    return stat(this.blobOf(sha256)).then(
      (stats) => stats.isFile(),
      () => false,
    );
  }

  /** Path of a partial download. */
  partOf(sha256: string): string {
    return `${this.blobOf(sha256)}${PART}`;
  }

  /** Size of a partial download. */
  async begun(sha256: string): Promise<number> {
    return stat(this.partOf(sha256)).then(
      ({ size }) => size,
      () => 0,
    );
  }

  /**
   * Moves a completed download into the store if its digest matches, otherwise removes it.
   * @returns the digest found.
   */
  async take(sha256: string): Promise<string> {
    const part = this.partOf(sha256);
    const { sha256: found } = await digestOfFile(part);
    if (found === sha256) await this.#files.rename(part, this.blobOf(sha256));
    else await this.#files.remove(part);
    return found;
  }

  /** Protects files from `sweep` while the work lasts, before a revision names them. */
  async keeping<T>(digests: readonly string[], work: () => Promise<T>): Promise<T> {
    const count = (sha256: string, by: number) =>
      this.#wanted.set(sha256, (this.#wanted.get(sha256) ?? 0) + by);
    for (const sha256 of digests) count(sha256, 1);
    try {
      return await work();
    } finally {
      for (const sha256 of digests) count(sha256, -1);
    }
  }

  /** Removes files that no revision names. @param nowEpochMs since 1970. */
  async sweep(nowEpochMs: number): Promise<void> {
    const named = await this.#named();
    for (const name of await readdir(join(this.folder, BLOBS))) {
      const isPart = name.endsWith(PART);
      const sha256 = isPart ? name.slice(0, -PART.length) : name;
      if (!isPart && named.has(sha256)) continue;
      if ((this.#wanted.get(sha256) ?? 0) > 0) continue;
      const path = join(this.folder, BLOBS, name);
      const stats = await stat(path).catch(() => null);
      const ageMs = nowEpochMs - (stats?.mtimeMs ?? nowEpochMs);
      if (ageMs > (isPart ? PART_AGE_MS : MIN_AGE_MS)) await this.#files.remove(path);
    }
  }

  async #named(): Promise<ReadonlySet<string>> {
    const named = new Set<string>();
    for (const key of await readdir(join(this.folder, POLICIES))) {
      const revisions = join(this.folder, POLICIES, key, "revisions");
      for (const id of await readdir(revisions).catch(() => [])) {
        const revision = await readRevision(join(revisions, id));
        for (const { sha256 } of revision?.parts ?? []) named.add(sha256);
      }
    }
    return named;
  }
}

/** Adds the path to system errors. @throws RuntimeError RUNTIME_STORE */
export async function namingStore<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const { code, message, syscall } = error as NodeJS.ErrnoException;
    if (syscall === undefined) throw error;
    const expected = "expected a folder that this user may write to";
    const found = `got: ${code ?? message} of ${syscall}`;
    const help = "choose another with --store";
    throw new RuntimeError("RUNTIME_STORE", `${path}: ${expected}, ${found}; ${help}`);
  }
}
