/** Finds intervals without activity although requests were in the server. */
import type { Span } from "./asked-span.ts";
import type { LoggedRequest } from "./logged-request.ts";

const BIN_MS = 10;
/** Shorter intervals are a running batch, or chance. */
const LEAST_MS = 50;
/** Most intervals that are reported, the longest ones. */
const MAX_REPORTED = 5;

export interface Stillness {
  readonly fromMs: number;
  readonly ms: number;
  readonly requests: number;
}

/**
 * Marks bins of 10 ms: whether anything began or ended, and how many requests were in the server.
 */
export class StillnessFinder {
  readonly #span: Span;
  readonly #isBusy: Uint8Array;
  /** Arrivals minus departures, per bin. */
  readonly #change: Int32Array;

  constructor(span: Span) {
    this.#span = span;
    const bins = Math.ceil((span.toMs - span.fromMs) / BIN_MS);
    this.#isBusy = new Uint8Array(bins);
    this.#change = new Int32Array(bins + 1);
  }

  take({ timeMs, totalMs, readMs, failedMs, runs }: LoggedRequest): void {
    this.#count(timeMs, 1);
    this.#count(timeMs + totalMs, -1);
    for (const ms of [0, totalMs, readMs, failedMs]) this.#mark(timeMs, ms);
    for (const { decidedMs, handedMs, doneMs } of runs) {
      for (const ms of [decidedMs, handedMs, doneMs]) this.#mark(timeMs, ms);
    }
  }

  /** Longest first. */
  found(): Stillness[] {
    const found: Stillness[] = [];
    let requests = 0;
    let begin = -1;
    for (let bin = 0; bin <= this.#isBusy.length; bin++) {
      const isStill = bin < this.#isBusy.length && this.#isBusy[bin] === 0 && requests > 0;
      if (isStill && begin < 0) begin = bin;
      if (!isStill && begin >= 0) {
        const ms = (bin - begin) * BIN_MS;
        const fromMs = this.#span.fromMs + begin * BIN_MS;
        if (ms >= LEAST_MS) found.push({ fromMs, ms, requests });
        begin = -1;
      }
      requests += this.#change[bin] ?? 0;
    }
    return found.sort((a, b) => b.ms - a.ms).slice(0, MAX_REPORTED);
  }

  #binOf(ms: number): number {
    return Math.floor((ms - this.#span.fromMs) / BIN_MS);
  }

  #mark(timeMs: number, sinceMs: number | null): void {
    if (sinceMs === null) return;
    const bin = this.#binOf(timeMs + sinceMs);
    if (bin >= 0 && bin < this.#isBusy.length) this.#isBusy[bin] = 1;
  }

  #count(ms: number, change: number): void {
    const bin = Math.max(0, this.#binOf(ms));
    if (bin < this.#change.length) this.#change[bin] = (this.#change[bin] ?? 0) + change;
  }
}
