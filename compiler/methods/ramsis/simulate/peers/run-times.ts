/** What batches of one variant have taken lately, by size. */
const RUNS = 10;

/**
 * The 99th percentile of the last ten runs, which is the slowest of them. Until ten have been
 * measured the profile stands for the others.
 */
export class RunTimes {
  /** Shape (largestBatch, RUNS). */
  readonly #runMs: Float64Array;
  readonly #nextByBatch: Uint8Array;
  readonly #estimateMs: Float64Array;

  /** @param serviceMs of the profile, by batch size less one. */
  constructor(serviceMs: Float64Array) {
    this.#runMs = Float64Array.from(
      { length: serviceMs.length * RUNS },
      (_, cell) => serviceMs[Math.floor(cell / RUNS)] ?? Number.NaN,
    );
    this.#nextByBatch = new Uint8Array(serviceMs.length);
    this.#estimateMs = serviceMs.slice();
  }

  /** @param batch at least 1. @returns infinity beyond the largest. */
  estimateMs(batch: number): number {
    return this.#estimateMs[batch - 1] ?? Number.POSITIVE_INFINITY;
  }

  record(batch: number, ms: number): void {
    const start = (batch - 1) * RUNS;
    const next = this.#nextByBatch[batch - 1] ?? 0;
    this.#runMs[start + next] = ms;
    this.#nextByBatch[batch - 1] = (next + 1) % RUNS;
    let slowestMs = 0;
    for (let run = start; run < start + RUNS; run++) {
      slowestMs = Math.max(slowestMs, this.#runMs[run] ?? 0);
    }
    this.#estimateMs[batch - 1] = slowestMs;
  }
}
