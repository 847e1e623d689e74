/** The batches that workers have and that have no answer yet, as a scheduler keeps them. */
import { assert } from "../../core/assert.ts";

/**
 * A worker computes one batch at a time, which keeps it busy for the dispatcher. Answers of batches
 * before it may be on their way: from the worker one, but a scheduler may be told of the next batch
 * before it is told of an answer that came with it.
 */
export class WorkerBatches<Batch extends { readonly worker: number }> {
  readonly #computing: (Batch | undefined)[];
  readonly #answering: readonly Set<Batch>[];

  constructor(workerCount: number) {
    this.#computing = new Array<Batch | undefined>(workerCount).fill(undefined);
    this.#answering = this.#computing.map(() => new Set<Batch>());
  }

  /** Workers that compute a batch. */
  get busyCount(): number {
    let count = 0;
    for (const batch of this.#computing) if (batch !== undefined) count++;
    return count;
  }

  isBusy(worker: number): boolean {
    return this.#computing[worker] !== undefined;
  }

  isComputing(batch: Batch): boolean {
    return this.#computing[batch.worker] === batch;
  }

  /** Whether it has no answer yet, and its worker has not been lost. */
  isOpen(batch: Batch): boolean {
    return this.isComputing(batch) || this.#answering[batch.worker]?.has(batch) === true;
  }

  start(batch: Batch): void {
    assert(this.#computing[batch.worker] === undefined, "a worker computes one batch at a time");
    this.#computing[batch.worker] = batch;
  }

  /** It keeps its worker busy no more; its answer is on its way. */
  onComputed(batch: Batch): void {
    assert(this.isComputing(batch), "a batch that is computed was being computed");
    this.#computing[batch.worker] = undefined;
    this.#answering[batch.worker]?.add(batch);
  }

  /** The batch that keeps the worker busy is another from now on, or none. */
  replace(worker: number, batch: Batch | undefined): void {
    this.#computing[worker] = batch;
  }

  /** Its answer is here, or will not come. @returns whether it was on its way. */
  endAnswer(batch: Batch): boolean {
    return this.#answering[batch.worker]?.delete(batch) === true;
  }

  /** All batches of a worker, the oldest first: it was lost. */
  endAll(worker: number): readonly Batch[] {
    const batches = [...(this.#answering[worker] ?? [])];
    const computing = this.#computing[worker];
    if (computing !== undefined) batches.push(computing);
    this.#answering[worker]?.clear();
    this.#computing[worker] = undefined;
    return batches;
  }
}
