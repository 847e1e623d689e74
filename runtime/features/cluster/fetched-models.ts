/** Cache of fetched models on disk, by digest. */
import { mkdir, readdir, rm, stat, utimes } from "node:fs/promises";
import { join } from "node:path";
import { digestOfFile } from "../../bundles/shipping/file-digest.ts";
import type { ClusterConnection } from "./connection.ts";
import { fetchModel } from "./model-objects.ts";

/** Number of models kept, the most recently used ones. */
const MAX_MODELS = 64;
const ENDING = ".onnx";

export class FetchedModels {
  readonly #connection: ClusterConnection;
  readonly #folder: string;
  readonly #signal: AbortSignal;
  /** Downloads by digest, so that concurrent requests share one. */
  readonly #fetching = new Map<string, Promise<string>>();

  constructor(connection: ClusterConnection, folder: string, signal: AbortSignal) {
    this.#connection = connection;
    this.#folder = folder;
    this.#signal = signal;
  }

  /**
   * Returns the path of a model, fetching it if needed. @throws RuntimeError, or the disk's error
   */
  path(sha256: string): Promise<string> {
    const known = this.#fetching.get(sha256);
    if (known !== undefined) return known;
    const fetching = this.#fetch(sha256).finally(() => this.#fetching.delete(sha256));
    this.#fetching.set(sha256, fetching);
    return fetching;
  }

  async #fetch(sha256: string): Promise<string> {
    const path = join(this.#folder, `${sha256}${ENDING}`);
    const found = await digestOfFile(path).catch(() => null);
    if (found?.sha256 !== sha256) {
      await mkdir(this.#folder, { recursive: true, mode: 0o700 });
      await fetchModel(this.#connection, sha256, path, this.#signal);
      await this.#sweep();
    }
    const now = new Date();
    await utimes(path, now, now);
    return path;
  }

  /** Removes the least recently used models; processes that have one open keep it. */
  async #sweep(): Promise<void> {
    const files = (await readdir(this.#folder)).filter((file) => file.endsWith(ENDING));
    if (files.length <= MAX_MODELS) return;
    const times = await Promise.all(
      files.map(async (file) => {
        const path = join(this.#folder, file);
        return {
          path,
          usedMs: await stat(path).then(
            ({ mtimeMs }) => mtimeMs,
            () => 0,
          ),
        };
      }),
    );
    const oldest = times.sort((one, other) => one.usedMs - other.usedMs);
    for (const { path } of oldest.slice(0, -MAX_MODELS)) await rm(path, { force: true });
  }
}
