/** Times that requests wait for their first batch, as servers measure them. */
import { LatencySample, type LatencySummary } from "./latency-sample.ts";

export interface QueueOutcome {
  /** From when a server has read requests until their first batch begins, over those served. */
  readonly queueMs: LatencySummary | null;
}

export interface CountedFrom {
  /** Only requests that arrive from then on are in the outcome; default: 0. */
  readonly countedFromMs?: number | undefined;
}

/** Requests under way, in slots that are reused. */
export class QueueTimes {
  readonly #fromMs: number;
  readonly #sinceMs: Float64Array;
  /** NaN before the first batch. */
  readonly #startMs: Float64Array;
  readonly #sample = new LatencySample();

  constructor(slotCount: number, { countedFromMs = 0 }: CountedFrom) {
    this.#fromMs = countedFromMs;
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

  /** A request that ran in no batch has waited 0. */
  countServed(slot: number): void {
    const sinceMs = this.#sinceMs[slot] ?? Number.NaN;
    if (sinceMs < this.#fromMs) return;
    const waitedMs = (this.#startMs[slot] ?? Number.NaN) - sinceMs;
    this.#sample.record(Number.isNaN(waitedMs) ? 0 : waitedMs);
  }

  summary(): LatencySummary | null {
    return this.#sample.summary();
  }
}
