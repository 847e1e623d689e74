/**
 * Interface of the store shared by front ends and workers: short texts by key, each changed only
 * with its last revision. Implemented on NATS (`nats-store.ts`), or in memory for tests.
 */

export interface StoreEntry {
  readonly key: string;
  readonly value: string;
  /** Increases with every change of the store, of any key. */
  readonly revision: number;
}

/** A change of a key; value null means it was deleted. */
export interface StoreChange {
  readonly key: string;
  readonly value: string | null;
  readonly revision: number;
}

export interface StoreWatcher {
  /**
   * Called with the initial state of every key and then with its changes: never an older one after
   * a newer, possibly the same one twice, and possibly only the last of several. After an
   * interruption all keys are reported again, with null for each that was deleted meanwhile.
   */
  onChange(change: StoreChange): void;
  /** Called when all keys have been reported, initially and after an interruption. */
  onSettled?(): void;
}

/**
 * Keys are made by `storeKey`. All operations but `watch` reject with ClusterAwayError if no answer
 * arrived. A change may then be made nonetheless, at once or later; read the key again to find out.
 */
export interface ClusterStore {
  /** Null if there is no such key. */
  get(key: string): Promise<StoreEntry | null>;
  /** @returns its revision, or null if the key exists. */
  create(key: string, value: string): Promise<number | null>;
  /**
   * @param revision the last known one.
   * @returns the new one, or null if it was not the last.
   */
  update(key: string, value: string, revision: number): Promise<number | null>;
  /**
   * @param revision the last one; omitted to delete any.
   * @returns false if it was not the last.
   */
  delete(key: string, revision?: number): Promise<boolean>;
  /**
   * @param prefix of whole parts, such as `workers`. @returns a function that ends the watch. Never
   * throws.
   */
  watch(prefix: string, watcher: StoreWatcher): () => void;
}

const PLAIN = /[A-Za-z0-9_-]/;

/**
 * Makes a key of non-empty parts: `storeKey("workers", "a.b")` is `workers.a=2Eb`. Characters other
 * than letters, digits, `_` and `-` are encoded as their bytes.
 */
export function storeKey(...parts: readonly string[]): string {
  return parts.map(encodedPart).join(".");
}

/** Splits a key of `storeKey` into its parts. */
export function partsOfKey(key: string): string[] {
  return key.split(".").map((part) => decodeURIComponent(part.replaceAll("=", "%")));
}

/** Whether a key is under a prefix of whole parts. */
export function isUnder(key: string, prefix: string): boolean {
  return key.startsWith(`${prefix}.`);
}

function encodedPart(part: string): string {
  let text = "";
  for (const char of part) {
    if (PLAIN.test(char)) text += char;
    else for (const byte of Buffer.from(char)) text += `=${hexOf(byte)}`;
  }
  return text;
}

function hexOf(byte: number): string {
  return byte.toString(16).toUpperCase().padStart(2, "0");
}
