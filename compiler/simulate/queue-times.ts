/** Times that requests under way wait for their first batch, as servers measure them. */

/** Indexed by slots, which are reused. */
export class QueueTimes {
  readonly #sinceMs: Float64Array;
  /** NaN before the first batch. */
  readonly #startMs: Float64Array;

  constructor(slotCount: number) {
    this.#sinceMs = new Float64Array(slotCount);
    this.#startMs = new Float64Array(slotCount);
  }

  /** @param sinceMs when the request is in the queue. */
  enter(slot: number, sinceMs: number): void {
    this.#sinceMs[slot] = sinceMs;
    this.#startMs[slot] = Number.NaN;
  }

  /** Only the first batch of a request counts. */
  start(slot: number, nowMs: number): void {
    if (Number.isNaN(this.#startMs[slot])) this.#startMs[slot] = nowMs;
  }

  /** 0 for a request that ran in no batch. */
  waitedMs(slot: number): number {
    const waitedMs = (this.#startMs[slot] ?? Number.NaN) - (this.#sinceMs[slot] ?? Number.NaN);
    return Number.isNaN(waitedMs) ? 0 : waitedMs;
  }
}
