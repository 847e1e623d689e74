/** The batches that workers run, and what is known of their queries. */

/** One row for each worker, and one more for the batch whose answers are being written. */
export class RunningBatches {
  readonly variantByRow: Uint32Array;
  readonly queriesByRow: Uint32Array;
  /** [workerCount + 1, maxBatch], when each was sent. */
  readonly sentMs: Float64Array;
  /** [workerCount + 1, maxBatch] */
  readonly sloClass: Uint8Array;
  readonly #workerCount: number;
  readonly #maxBatch: number;

  constructor(workerCount: number, maxBatch: number) {
    const rows = workerCount + 1;
    this.#workerCount = workerCount;
    this.#maxBatch = maxBatch;
    this.variantByRow = new Uint32Array(rows);
    this.queriesByRow = new Uint32Array(rows);
    this.sentMs = new Float64Array(rows * maxBatch);
    this.sloClass = new Uint8Array(rows * maxBatch);
  }

  /** @returns where its queries are to stand. */
  start(worker: number, variant: number, queries: number): number {
    this.variantByRow[worker] = variant;
    this.queriesByRow[worker] = queries;
    return worker * this.#maxBatch;
  }

  /** Where the queries of a row stand. */
  begin(row: number): number {
    return row * this.#maxBatch;
  }

  /** The worker may begin another batch. @returns the row that its batch is in from now on. */
  setAside(worker: number): number {
    const row = this.#workerCount;
    this.variantByRow[row] = this.variantByRow[worker] ?? 0;
    const queries = this.queriesByRow[worker] ?? 0;
    this.queriesByRow[row] = queries;
    const from = this.begin(worker);
    this.sentMs.copyWithin(this.begin(row), from, from + queries);
    this.sloClass.copyWithin(this.begin(row), from, from + queries);
    return row;
  }
}
