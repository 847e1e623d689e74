/** What files say, read again when they change: bad ones leave the last good content in force. */
import { WatchedFiles } from "./watched-files.ts";

export interface KeptOptions<T> {
  /** As messages call them. */
  readonly what: string;
  readonly paths: readonly string[];
  /** @throws Error that says what is wrong with them. */
  readonly read: () => Promise<T>;
  readonly onNotice: (message: string) => void;
  /** How often it is looked whether they have changed. */
  readonly lookMs?: number | undefined;
}

export class KeptFiles<T> {
  readonly #options: KeptOptions<T>;
  readonly #files: WatchedFiles;
  readonly #listeners = new Set<(value: T) => void>();
  #value: T;
  #fault: string | null = null;
  #readCount = 1;

  private constructor(options: KeptOptions<T>, files: WatchedFiles, value: T) {
    this.#options = options;
    this.#files = files;
    this.#value = value;
  }

  /** @throws what reading them throws. */
  static async open<T>(options: KeptOptions<T>): Promise<KeptFiles<T>> {
    let opened: KeptFiles<T> | undefined;
    const files = new WatchedFiles(
      options.paths,
      async () => {
        if (opened !== undefined) await opened.#readAgain();
      },
      options.lookMs,
    );
    try {
      await files.note();
      opened = new KeptFiles(options, files, await options.read());
      return opened;
    } catch (error) {
      files.close();
      throw error;
    }
  }

  /** Of the last good content. */
  get value(): T {
    return this.#value;
  }

  /** Why the files as they are now are not followed; null where they are. */
  get fault(): string | null {
    return this.#fault;
  }

  /** How often good ones were read. */
  get readCount(): number {
    return this.#readCount;
  }

  /** @param listener called with every good content from now on. */
  onChange(listener: (value: T) => void): void {
    this.#listeners.add(listener);
  }

  /** Reads them now, changed or not. @returns once their content is in force, or is not. */
  refresh(): Promise<void> {
    return this.#files.look(true);
  }

  close(): void {
    this.#files.close();
  }

  /** Is called when they have changed. */
  async #readAgain(): Promise<void> {
    const { what, read, onNotice } = this.#options;
    try {
      const value = await read();
      for (const listener of this.#listeners) listener(value);
      this.#value = value;
      this.#fault = null;
      this.#readCount++;
      onNotice(`${what}: read again, in force from now on`);
    } catch (error) {
      this.#fault = error instanceof Error ? error.message : String(error);
      onNotice(`${what}: not followed, what was read before stays in force: ${this.#fault}`);
    }
  }
}
