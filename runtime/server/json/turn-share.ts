/** How much JSON is read and written in one turn of the event loop, whoever asks. */

/** Its work takes some 10 ms at the most. */
const TURN_BYTES = 131_072;

/**
 * A client's JSON is short, but many clients may have some at once: what is beyond a turn's share
 * waits for the next one, first come first served.
 */
export class TurnShare {
  readonly #turnBytes: number;
  readonly #waiting: { readonly bytes: number; readonly begin: () => void }[] = [];
  #leftBytes: number;
  #isArmed = false;

  constructor(turnBytes = TURN_BYTES) {
    this.#turnBytes = turnBytes;
    this.#leftBytes = turnBytes;
  }

  /**
   * @param bytes of work, about.
   * @returns undefined if it may be done at once; else what is kept when its turn has come.
   */
  take(bytes: number): Promise<void> | undefined {
    this.#arm();
    if (this.#leftBytes > 0 && this.#waiting.length === 0) {
      this.#leftBytes -= bytes;
      return undefined;
    }
    return new Promise((begin) => {
      this.#waiting.push({ bytes, begin });
    });
  }

  #arm(): void {
    if (this.#isArmed) return;
    this.#isArmed = true;
    setImmediate(() => {
      this.#isArmed = false;
      this.#leftBytes = this.#turnBytes;
      this.#admit();
    });
  }

  #admit(): void {
    while (this.#leftBytes > 0) {
      const next = this.#waiting.shift();
      if (next === undefined) return;
      this.#arm();
      this.#leftBytes -= next.bytes;
      next.begin();
    }
  }
}
