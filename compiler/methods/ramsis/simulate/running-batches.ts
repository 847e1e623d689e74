/** Batches that workers run, with the data of their queries. */

/** One row for each worker, and one more for the batch whose answers are being written. */
export class RunningBatches {
  readonly variantByRow: Uint32Array;
  readonly queriesByRow: Uint32Array;
  /** [workerCount + 1, maxBatch]: when each was sent. */
  readonly sentMs: Float64Array;
  /** [workerCount + 1, maxBatch] */
  readonly sloClass: Uint8Array;
  readonly #maxBatch: number;
  readonly #rowByWorker: Uint32Array;
  #spareRow: number;

  constructor(workerCount: number, maxBatch: number) {
    const rows = workerCount + 1;
    this.#maxBatch = maxBatch;
    this.variantByRow = new Uint32Array(rows);
    this.queriesByRow = new Uint32Array(rows);
    this.sentMs = new Float64Array(rows * maxBatch);
    this.sloClass = new Uint8Array(rows * maxBatch);
    this.#rowByWorker = Uint32Array.from({ length: workerCount }, (_, worker) => worker);
    this.#spareRow = workerCount;
  }

  /** @returns the offset of its queries. */
  start(worker: number, variant: number, queries: number): number {
    const row = this.#rowByWorker[worker] ?? 0;
    this.variantByRow[row] = variant;
    this.queriesByRow[row] = queries;
    return this.begin(row);
  }

  /** Offset of the queries of a row. */
  begin(row: number): number {
    return row * this.#maxBatch;
  }

  /**
   * Frees the worker for another batch.
   * @returns the row of its batch, which stays until the next one is set aside.
   */
  setAside(worker: number): number {
    const row = this.#rowByWorker[worker] ?? 0;
    this.#rowByWorker[worker] = this.#spareRow;
    this.#spareRow = row;
    return row;
  }
}
