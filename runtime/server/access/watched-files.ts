/** Detects changed files by their modification times, sizes and inodes, once per second. */
import { stat } from "node:fs/promises";

/** Interval between checks. */
const LOOK_MS = 1000;

/** Files that are read together. */
export class WatchedFiles {
  readonly #paths: readonly string[];
  readonly #onChange: () => Promise<boolean>;
  readonly #timer: NodeJS.Timeout;
  #seen = "";
  #looking: Promise<void> = Promise.resolve();
  #isClosed = false;

  /**
   * @param onChange reads the files again; must not reject. Not called at the start. Unless it
   * returns true, the next check reads them again: the reason may have been a lack of descriptors.
   */
  constructor(paths: readonly string[], onChange: () => Promise<boolean>, lookMs = LOOK_MS) {
    this.#paths = paths;
    this.#onChange = onChange;
    this.#timer = setInterval(() => void this.look(), lookMs).unref();
  }

  /**
   * Records the current state of the files. Must be called before they are read, so that a change
   * during the read is detected.
   */
  async note(): Promise<void> {
    this.#seen = await stamp(this.#paths);
  }

  /** Checks the files, one check at a time. @param isAsked whether to read unchanged files too. */
  look(isAsked = false): Promise<void> {
    this.#looking = this.#looking.then(async () => {
      if (this.#isClosed) return;
      const now = await stamp(this.#paths);
      if (now === this.#seen && !isAsked) return;
      this.#seen = (await this.#onChange()) ? now : "";
    });
    return this.#looking;
  }

  close(): void {
    this.#isClosed = true;
    clearInterval(this.#timer);
  }
}

/** Follows links, since Kubernetes replaces a volume of secrets by changing a link. */
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
