/** Tells when files are others than they were: by their dates, sizes and places, once a second. */
import { stat } from "node:fs/promises";

/** How often it is looked. */
const LOOK_MS = 1000;

/** Files that are read together. */
export class WatchedFiles {
  readonly #paths: readonly string[];
  readonly #onChange: () => Promise<void>;
  readonly #timer: NodeJS.Timeout;
  #seen = "";
  #looking: Promise<void> = Promise.resolve();
  #isClosed = false;

  /** @param onChange reads them again; it never rejects. Not called at first. */
  constructor(paths: readonly string[], onChange: () => Promise<void>, lookMs: number = LOOK_MS) {
    this.#paths = paths;
    this.#onChange = onChange;
    this.#timer = setInterval(() => void this.look(), lookMs).unref();
  }

  /**
   * Notes how they are now; to be called before they are read, so that a change while they are is
   * seen.
   */
  async note(): Promise<void> {
    this.#seen = await stamp(this.#paths);
  }

  /** One look at a time. @param isAsked whether they are read though nothing has changed. */
  look(isAsked = false): Promise<void> {
    this.#looking = this.#looking.then(async () => {
      if (this.#isClosed) return;
      const now = await stamp(this.#paths);
      if (now === this.#seen && !isAsked) return;
      this.#seen = now;
      await this.#onChange();
    });
    return this.#looking;
  }

  close(): void {
    this.#isClosed = true;
    clearInterval(this.#timer);
  }
}

/** Links are followed: a volume of secrets is replaced by turning one. */
async function stamp(paths: readonly string[]): Promise<string> {
  const stamps = paths.map(async (path) => {
    try {
      const { mtimeMs, ctimeMs, size, ino, dev } = await stat(path);
      return [mtimeMs, ctimeMs, size, ino, dev].join(" ");
    } catch (error) {
      return String((error as NodeJS.ErrnoException).code);
    }
  });
  return (await Promise.all(stamps)).join("\n");
}
