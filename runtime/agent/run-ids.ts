/** Remembers the ids of batches that ran, so that none runs twice. */

/** Far more than are on their way to one worker at a time. */
const REMEMBERED = 1024;

export class RunIds {
  /** Oldest first. */
  readonly #ids = new Set<string>();

  /** Records an id. @returns whether it is new. */
  take(id: string): boolean {
    if (this.#ids.has(id)) return false;
    this.#ids.add(id);
    for (const oldest of this.#ids) {
      if (this.#ids.size <= REMEMBERED) break;
      this.#ids.delete(oldest);
    }
    return true;
  }

  /** Forgets the id of a batch that did not run, so that it may come again. */
  giveBack(id: string): void {
    this.#ids.delete(id);
  }
}
