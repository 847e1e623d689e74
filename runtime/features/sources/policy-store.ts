/**
 * What is kept of policies on the disk, so that a server starts without its source: files by their
 * digests, and what each policy has had. Source: docs/many-machines.md, "The store".
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
/** Until then a file that no revision names may be of one that another server is putting there. */
const MIN_AGE_MS = 3_600_000;
/** For as long a download that was broken off may go on. */
const PART_AGE_MS = 7 * 24 * 3_600_000;

export class PolicyStore {
  readonly folder: string;
  readonly #files: StoreFiles;
  /** Digests of files of revisions that are under way. */
  readonly #wanted = new Map<string, number>();

  private constructor(folder: string, files: StoreFiles) {
    this.folder = folder;
    this.#files = files;
  }

  /** @throws RuntimeError RUNTIME_STORE if the folder can neither be written to nor made. */
  static async open(folder: string, files: StoreFiles = DISK): Promise<PolicyStore> {
    const store = new PolicyStore(folder, files);
    await namingStore(folder, async () => {
      await files.makeFolder(join(folder, BLOBS));
      await files.makeFolder(join(folder, POLICIES));
    });
    return store;
  }

  /** @param key of the policy: a name of a folder. */
  async policy(key: string): Promise<StoredPolicy> {
    const folder = join(this.folder, POLICIES, key);
    await namingStore(folder, () => this.#files.makeFolder(join(folder, "revisions")));
    return new StoredPolicy(folder, this.#files);
  }

  /** Where the file of a digest lies, or will. */
  blobOf(sha256: string): string {
    return join(this.folder, BLOBS, sha256);
  }

  async has(sha256: string): Promise<boolean> {
    return stat(this.blobOf(sha256)).then(
      (stats) => stats.isFile(),
      () => false,
    );
  }

  /** Where a file is put together; what an attempt before has left of it is there. */
  partOf(sha256: string): string {
    return `${this.blobOf(sha256)}${PART}`;
  }

  /** Bytes of it that an attempt before has left. */
  async begun(sha256: string): Promise<number> {
    return stat(this.partOf(sha256)).then(
      ({ size }) => size,
      () => 0,
    );
  }

  /**
   * Takes a file that is put together in, if it is what it should be; if not it goes.
   * @returns its digest.
   */
  async take(sha256: string): Promise<string> {
    const part = this.partOf(sha256);
    const { sha256: found } = await digestOfFile(part);
    if (found === sha256) await this.#files.rename(part, this.blobOf(sha256));
    else await this.#files.remove(part);
    return found;
  }

  /** Files of these digests stay while the work lasts, though no revision names them yet. */
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

  /** Removes files that no revision of any policy names. @param nowEpochMs since 1970. */
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

/** @throws RuntimeError RUNTIME_STORE for what the system says. */
export async function namingStore<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const { code, message, syscall } = error as NodeJS.ErrnoException;
    if (syscall === undefined) throw error;
    const expected = "expected a folder that this user may write to";
    const found = `got: ${code ?? message} of ${syscall}`;
    const help = "--store names another";
    throw new RuntimeError("RUNTIME_STORE", `${path}: ${expected}, ${found}; ${help}`);
  }
}
