/**
 * A cluster's store in this process, which behaves as that of NATS does: `MemoryStore` is how one
 * program sees a bucket, over a link that can be cut or lose what is said.
 */
import { ClusterAwayError } from "../../runtime/features/cluster/away-error.ts";
import {
  type ClusterStore,
  isUnder,
  type StoreChange,
  type StoreEntry,
  type StoreWatcher,
} from "../../runtime/features/cluster/store.ts";

/** What a bucket holds, and who is told of it. */
export class MemoryBucket {
  /** By key, with a null for those that were deleted. */
  readonly changes = new Map<string, StoreChange>();
  readonly #stores = new Set<MemoryStore>();
  #revision = 0;

  store(): MemoryStore {
    const store = new MemoryStore(this);
    this.#stores.add(store);
    return store;
  }

  /** As a NATS whose disk is gone: revisions begin again, and nobody is told. */
  loseAll(): void {
    this.changes.clear();
    this.#revision = 0;
  }

  /** @returns the new revision, or null where the last one is another. */
  change(key: string, value: string | null, last: number | undefined): number | null {
    const known = this.changes.get(key)?.revision ?? 0;
    if (last !== undefined && last !== known) return null;
    this.#revision += 1;
    const change = { key, value, revision: this.#revision };
    this.changes.set(key, change);
    for (const store of this.#stores) store.tell(change);
    return change.revision;
  }
}

/**
 * What of a link still works; an answer is lost after what was asked has been done, and one that
 * hangs is waited for as long as that of NATS.
 */
export type MemoryLink = "whole" | "cut" | "loses answers" | "hangs";

const HANGS_MS = 2000;

export class MemoryStore implements ClusterStore {
  readonly #bucket: MemoryBucket;
  readonly #watches = new Set<Watch>();
  #link: MemoryLink = "whole";

  constructor(bucket: MemoryBucket) {
    this.#bucket = bucket;
  }

  get link(): MemoryLink {
    return this.#link;
  }

  set link(link: MemoryLink) {
    const wasCut = this.#link === "cut";
    this.#link = link;
    if (wasCut && link !== "cut") for (const watch of this.#watches) this.#tellAll(watch);
  }

  get(key: string): Promise<StoreEntry | null> {
    return this.#asking(() => {
      const change = this.#bucket.changes.get(key);
      if (change === undefined || change.value === null) return null;
      return { key, value: change.value, revision: change.revision };
    });
  }

  create(key: string, value: string): Promise<number | null> {
    return this.#asking(() => {
      const change = this.#bucket.changes.get(key);
      if (change !== undefined && change.value !== null) return null;
      return this.#bucket.change(key, value, change?.revision ?? 0);
    });
  }

  update(key: string, value: string, revision: number): Promise<number | null> {
    return this.#asking(() => this.#bucket.change(key, value, revision));
  }

  delete(key: string, revision?: number): Promise<boolean> {
    return this.#asking(() => this.#bucket.change(key, null, revision) !== null);
  }

  watch(prefix: string, watcher: StoreWatcher): () => void {
    const watch = { prefix, watcher, known: new Set<string>(), isOpen: true };
    this.#watches.add(watch);
    if (this.#link !== "cut") this.#tellAll(watch);
    return () => {
      watch.isOpen = false;
      this.#watches.delete(watch);
    };
  }

  /** Passes on what became of a key. */
  tell(change: StoreChange): void {
    if (this.#link === "cut") return;
    for (const watch of this.#watches) this.#tell(watch, change);
  }

  #tell(watch: Watch, change: StoreChange): void {
    if (!isUnder(change.key, watch.prefix)) return;
    this.#later(watch, ({ watcher, known }) => {
      if (change.value === null) known.delete(change.key);
      else known.add(change.key);
      watcher.onChange(change);
    });
  }

  #tellAll(watch: Watch): void {
    const { changes } = this.#bucket;
    for (const change of changes.values()) {
      if (change.value !== null || watch.known.has(change.key)) this.#tell(watch, change);
    }
    this.#later(watch, ({ watcher }) => watcher.onSettled?.());
  }

  /** What is on its way when the link is cut does not arrive. */
  #later(watch: Watch, work: (watch: Watch) => void): void {
    queueMicrotask(() => {
      if (watch.isOpen && this.#link !== "cut") work(watch);
    });
  }

  async #asking<T>(work: () => T): Promise<T> {
    const away = () => new ClusterAwayError("expected an answer of the store, got none");
    await Promise.resolve();
    if (this.#link === "cut") throw away();
    if (this.#link === "hangs") {
      await new Promise((resolve) => setTimeout(resolve, HANGS_MS));
      throw away();
    }
    const answer = work();
    await Promise.resolve();
    if (this.#link !== "whole") throw away();
    return answer;
  }
}

interface Watch {
  readonly prefix: string;
  readonly watcher: StoreWatcher;
  /** Keys of which it was told that they are there. */
  readonly known: Set<string>;
  isOpen: boolean;
}
