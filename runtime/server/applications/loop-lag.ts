/** How long requests wait before the server sees them, by how far its loop is behind. */

/** What is less is not told: it is no backlog. */
const LEAST_MS = 2;
/** While requests come, the loop is to come by this often. */
const BEAT_MS = 5;

/**
 * What arrives on a socket waits there until the loop comes by, which takes a turn at most; the
 * answer of a worker waits as long. A turn is taken to last from its first request to its end. A
 * process that others keep from the processor does not come by at all: a timer that should have
 * called says since when.
 */
export class LoopLag {
  readonly #nowMs: (() => number) | undefined;
  #firstMs = Number.NaN;
  #lastTurnMs = 0;
  #beatDueMs = Number.POSITIVE_INFINITY;
  #hasNews = false;

  /** @param nowMs the clock by which timers call; left out, nothing is ever behind. */
  constructor(nowMs: (() => number) | undefined) {
    this.#nowMs = nowMs;
  }

  /**
   * A request is seen.
   * @returns how long it may have waited, ms; 0 where that is next to nothing.
   */
  onRequest(): number {
    if (this.#nowMs === undefined) return 0;
    const nowMs = this.#nowMs();
    const overdueMs = nowMs - this.#beatDueMs;
    this.#hasNews = true;
    if (Number.isNaN(this.#firstMs)) {
      this.#firstMs = nowMs;
      setImmediate(this.#onTurnEnd, this.#nowMs);
      if (this.#beatDueMs === Number.POSITIVE_INFINITY) this.#arm(this.#nowMs);
    }
    const lagMs = Math.max(this.#lastTurnMs, nowMs - this.#firstMs, overdueMs);
    return lagMs < LEAST_MS ? 0 : lagMs;
  }

  readonly #onTurnEnd = (nowMs: () => number) => {
    this.#lastTurnMs = nowMs() - this.#firstMs;
    this.#firstMs = Number.NaN;
  };

  #arm(nowMs: () => number): void {
    this.#hasNews = false;
    this.#beatDueMs = nowMs() + BEAT_MS;
    setTimeout(this.#onBeat, BEAT_MS, nowMs).unref();
  }

  readonly #onBeat = (nowMs: () => number) => {
    this.#beatDueMs = Number.POSITIVE_INFINITY;
    if (this.#hasNews) this.#arm(nowMs);
    else this.#lastTurnMs = 0;
  };
}
