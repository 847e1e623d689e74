/** How long requests wait before the server sees them, by how long a turn of its loop takes. */

/** Turns that take less are not told: they are no backlog. */
const LEAST_MS = 2;

/**
 * What arrives on a socket waits there until the loop comes by, which takes a turn at most; the
 * answer of a worker waits as long. A turn is taken to last from its first request to its end.
 */
export class LoopLag {
  readonly #nowMs: () => number;
  #firstMs = Number.NaN;
  #lastTurnMs = 0;
  readonly #onTurnEnd = () => {
    this.#lastTurnMs = this.#nowMs() - this.#firstMs;
    this.#firstMs = Number.NaN;
  };

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /**
   * A request is seen.
   * @returns how long it may have waited, ms: the time of a turn, or 0 where that is next to
   * nothing.
   */
  onRequest(nowMs: number): number {
    if (Number.isNaN(this.#firstMs)) {
      this.#firstMs = nowMs;
      setImmediate(this.#onTurnEnd);
    }
    const turnMs = Math.max(this.#lastTurnMs, nowMs - this.#firstMs);
    return turnMs < LEAST_MS ? 0 : turnMs;
  }
}
