/**
 * Files that are read again when they change; invalid ones leave the last valid content in force.
 */
import { WatchedFiles } from "./watched-files.ts";

export interface KeptOptions<T> {
  /** Name of the files in messages. */
  readonly what: string;
  readonly paths: readonly string[];
  /** @throws Error that describes the fault. */
  readonly read: () => Promise<T>;
  readonly onNotice: (message: string) => void;
  /** Interval of the check for changes. */
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

  /** @throws errors of the first read. */
  static async open<T>(options: KeptOptions<T>): Promise<KeptFiles<T>> {
    let opened: KeptFiles<T> | undefined;
    const files = new WatchedFiles(
      options.paths,
      async () => opened === undefined || opened.#readAgain(),
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

  /** Last valid content. */
  get value(): T {
    return this.#value;
  }

  /** Why the current files were not accepted; null where they were. */
  get fault(): string | null {
    return this.#fault;
  }

  /** Number of successful reads. */
  get readCount(): number {
    return this.#readCount;
  }

  /** @param listener called with every valid content from now on. */
  onChange(listener: (value: T) => void): void {
    this.#listeners.add(listener);
  }

  /** Reads the files now, changed or not. @returns once their content was accepted or rejected. */
  refresh(): Promise<void> {
    return this.#files.look(true);
  }

  close(): void {
    this.#files.close();
  }

  /** Called when the files have changed, and after a fault. @returns whether they are accepted. */
  async #readAgain(): Promise<boolean> {
    const { what, read, onNotice } = this.#options;
    try {
      const value = await read();
      for (const listener of this.#listeners) listener(value);
      this.#value = value;
      this.#fault = null;
      this.#readCount++;
      onNotice(`${what}: reloaded`);
      return true;
    } catch (error) {
      const fault = error instanceof Error ? error.message : String(error);
      if (fault !== this.#fault) {
        onNotice(`${what}: not reloaded, the previous content stays in force: ${fault}`);
      }
      this.#fault = fault;
      return false;
    }
  }
}
