/** When queries came, of the last hour at most, in memory that is bounded. */

import type { RecordedEntry } from "../decisions/recorded-entry.ts";

/** How long arrivals are kept. */
export const KEPT_MS = 3_600_000;
/** As many as a trace may have, less a few: whoever simulates them reads them as one. */
export const MOST_ARRIVALS = 1_900_544;
/** Arrivals that are let go at once. */
const CHUNK_SIZE = 4096;

interface Chunk {
  readonly atMs: Float64Array;
  count: number;
}

export class ArrivalBook {
  readonly #chunks: Chunk[] = [];
  readonly #keptMs: number;
  readonly #mostChunks: number;
  #count = 0;
  #fromMs: number;
  #lastMs = Number.NEGATIVE_INFINITY;

  /**
   * @param fromMs all that comes after it is noted. @param keptMs how long it is kept.
   * @param mostArrivals how many are kept, rounded down to whole chunks of 4096, at least one.
   */
  constructor(fromMs: number, keptMs = KEPT_MS, mostArrivals = MOST_ARRIVALS) {
    this.#fromMs = fromMs;
    this.#keptMs = keptMs;
    this.#mostChunks = Math.max(1, Math.floor(mostArrivals / CHUNK_SIZE));
  }

  /** It has all that came after this time. */
  get fromMs(): number {
    return this.#fromMs;
  }

  /** Arrivals that are kept. */
  get count(): number {
    return this.#count;
  }

  /** @param atMs one before those that were noted counts as theirs. @param queries at once. */
  note(atMs: number, queries: number): void {
    this.#lastMs = Math.max(this.#lastMs, atMs);
    for (let query = 0; query < queries; query++) {
      let last = this.#chunks.at(-1);
      if (last === undefined || last.count === CHUNK_SIZE) {
        this.#letGo(this.#lastMs);
        last = { atMs: new Float64Array(CHUNK_SIZE), count: 0 };
        this.#chunks.push(last);
      }
      last.atMs[last.count++] = this.#lastMs;
      this.#count++;
    }
  }

  /** All that is kept and came after a time, ascending. */
  after(fromMs: number): Float64Array {
    const kept = new Float64Array(this.#count);
    let count = 0;
    for (const chunk of this.#chunks) {
      for (let index = 0; index < chunk.count; index++) {
        const atMs = chunk.atMs[index] ?? Number.NaN;
        if (atMs > fromMs) kept[count++] = atMs;
      }
    }
    return kept.subarray(0, count);
  }

  /** Makes room for a chunk. */
  #letGo(nowMs: number): void {
    const chunks = this.#chunks;
    while (chunks.length > 0) {
      const lastMs = chunks[0]?.atMs[CHUNK_SIZE - 1] ?? Number.NaN;
      if (chunks.length < this.#mostChunks && lastMs >= nowMs - this.#keptMs) return;
      chunks.shift();
      this.#count -= CHUNK_SIZE;
      this.#fromMs = Math.max(this.#fromMs, lastMs);
    }
  }
}

/** Queries as a simulation has them arrive, of an entry of any method. */
export function arrivalsIn({ kind, queries, batch }: RecordedEntry): number {
  if (kind === "refused") return typeof queries === "number" ? queries : 0;
  if (kind === "arrival" || kind === "joint-arrival" || kind === "request") return 1;
  // Of malleable pipelines a query has a size; in a graph of tasks it is of one of them.
  return kind === "query" && batch !== undefined ? 1 : 0;
}
