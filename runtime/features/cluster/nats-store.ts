/** Store of a cluster in a NATS key-value bucket, which is created if missing. */
import { ClusterAwayError } from "./away-error.ts";
import type { ClusterConnection } from "./connection.ts";
import type { KeyValue, NatsLink } from "./nats-packages.ts";
import { NatsWatch } from "./nats-watch.ts";
import type { ClusterStore, StoreEntry, StoreWatcher } from "./store.ts";

/** Longest wait for an answer of JetStream. */
const TIMEOUT_MS = 2000;
/** Number of servers from which entries are replicated, and of the replicas. */
const MANY_SERVERS = 3;
/** JetStream's error codes for a wrong last revision. */
const WRONG_LAST = new Set([10071, 10164]);

export class NatsStore implements ClusterStore {
  readonly #connection: ClusterConnection;
  #opened: { readonly link: NatsLink; readonly bucket: Promise<KeyValue> } | null = null;

  constructor(connection: ClusterConnection) {
    this.#connection = connection;
  }

  async get(key: string): Promise<StoreEntry | null> {
    const entry = await this.#asking((bucket) => bucket.get(key));
    if (entry === null || entry.operation !== "PUT") return null;
    return { key, value: entry.string(), revision: entry.revision };
  }

  create(key: string, value: string): Promise<number | null> {
    return this.#changing((bucket) => bucket.create(key, value));
  }

  update(key: string, value: string, revision: number): Promise<number | null> {
    return this.#changing((bucket) => bucket.update(key, value, revision));
  }

  async delete(key: string, revision?: number): Promise<boolean> {
    const options = revision === undefined ? undefined : { previousSeq: revision };
    const done = await this.#changing(async (bucket) => {
      await bucket.delete(key, options);
      return 0;
    });
    return done !== null;
  }

  watch(prefix: string, watcher: StoreWatcher): () => void {
    const watch = new NatsWatch({
      connection: this.#connection,
      bucket: this.#connection.url.name,
      prefix,
      watcher,
      timeoutMs: TIMEOUT_MS,
      // The bucket must exist before it can be watched.
      ready: () => this.#asking(async () => {}),
    });
    return () => watch.close();
  }

  async #changing(work: (bucket: KeyValue) => Promise<number>): Promise<number | null> {
    return this.#asking((bucket) =>
      work(bucket).catch((error: unknown) => {
        if (isWrongLast(error)) return null;
        throw error;
      }),
    );
  }

  /** @throws ClusterAwayError */
  async #asking<T>(work: (bucket: KeyValue) => Promise<T>): Promise<T> {
    const { link, url } = this.#connection;
    if (link === null)
      throw new ClusterAwayError(`${url.text}: expected an answer, but NATS is unreachable`);
    try {
      return await work(await this.#bucketOf(link));
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      throw new ClusterAwayError(`${url.text}: expected an answer, got: ${reason}`);
    }
  }

  #bucketOf(link: NatsLink): Promise<KeyValue> {
    if (this.#opened?.link === link) return this.#opened.bucket;
    const { url, packages } = this.#connection;
    const streams = packages.jetstream(link, { timeout: TIMEOUT_MS });
    const bucket = new packages.Kvm(streams).create(url.name, {
      replicas: url.servers.length >= MANY_SERVERS ? MANY_SERVERS : 1,
      history: 1,
      // Replicas other than the leader could answer with outdated values.
      allow_direct: false,
      description: "Workers and front ends of Stratagem",
    });
    const opened = { link, bucket };
    this.#opened = opened;
    bucket.catch(() => {
      if (this.#opened === opened) this.#opened = null;
    });
    return bucket;
  }
}

function isWrongLast(error: unknown): boolean {
  if (typeof error !== "object" || error === null || !("code" in error)) return false;
  return typeof error.code === "number" && WRONG_LAST.has(error.code);
}
