/**
 * What front ends and workers keep together: small texts under keys, each changed only by whoever
 * knows its last revision. NATS has them (`nats-store.ts`), or one process in a test.
 */

export interface StoreEntry {
  readonly key: string;
  readonly value: string;
  /** Greater with every change of the store, whichever key that is of. */
  readonly revision: number;
}

/** Value null: the key was deleted. */
export interface StoreChange {
  readonly key: string;
  readonly value: string | null;
  readonly revision: number;
}

export interface StoreWatcher {
  /**
   * Is told of every key as it is at first, and then of its changes: never an older one after a
   * newer, but the same more than once, and of several in a row the last alone may come. After a
   * time away all is told again, with a null for each key that has gone meanwhile.
   */
  onChange(change: StoreChange): void;
  /** All that was there at the start, or after a time away, has been told. */
  onSettled?(): void;
}

/**
 * Keys are what `storeKey` makes. Everything but `watch` rejects with ClusterAwayError where no
 * answer came. A change may then have been made all the same, or yet be made: whoever has to know
 * reads the key again.
 */
export interface ClusterStore {
  /** Null where there is none. */
  get(key: string): Promise<StoreEntry | null>;
  /** @returns its revision, or null where there is such a key. */
  create(key: string, value: string): Promise<number | null>;
  /**
   * @param revision the last one, as far as is known.
   * @returns the new one, or null where it was not the last.
   */
  update(key: string, value: string, revision: number): Promise<number | null>;
  /**
   * @param revision the last one; left out, whatever that is.
   * @returns false where it was not the last.
   */
  delete(key: string, revision?: number): Promise<boolean>;
  /** @param prefix of whole parts, such as `workers`. @returns what ends it. Never throws. */
  watch(prefix: string, watcher: StoreWatcher): () => void;
}

const PLAIN = /[A-Za-z0-9_-]/;

/**
 * A key of parts, which may be any texts: `storeKey("workers", "a.b")` is `workers.a=2Eb`. What is
 * no letter, digit, `_` or `-` is written as its bytes. Parts are not empty.
 */
export function storeKey(...parts: readonly string[]): string {
  return parts.map(encodedPart).join(".");
}

/** The parts of a key of `storeKey`. */
export function partsOfKey(key: string): string[] {
  return key.split(".").map((part) => decodeURIComponent(part.replaceAll("=", "%")));
}

/** Whether a key lies under whole parts. */
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
