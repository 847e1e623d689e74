/** Tells what a batch takes on so many cores. */
import type { ScaledTask } from "stratagem-runtime/internal/bundle/schema";
import { assert } from "stratagem-runtime/internal/core/assert";

/** What a batch takes on so many cores, as it was planned with. */
export class BatchTimes {
  /** Largest batch of any task. */
  readonly maxBatch: number;
  /** By task, [maxCores, maxBatch of the task]. */
  readonly #ms: readonly Float64Array[];
  readonly #maxBatch: Uint32Array;

  constructor(tasks: readonly ScaledTask[]) {
    const tables = tasks.map(({ variants }) => {
      const [variant] = variants;
      assert(variant !== undefined, "a task has a variant");
      return variant.latency.ms;
    });
    this.#ms = tables.map(({ data }) => Float64Array.from(data));
    this.#maxBatch = Uint32Array.from(tables, ({ shape }) => shape[1] ?? 0);
    this.maxBatch = Math.max(...this.#maxBatch);
  }

  /** What the next batch takes. */
  nextMs(task: number, batch: number, cores: number): number {
    const ms = this.#ms[task]?.[this.cell(task, batch, cores)] ?? Number.NaN;
    assert(ms > 0, "cores in force have a time");
    return ms;
  }

  /** Where the table of a task has a batch on so many cores. */
  protected cell(task: number, batch: number, cores: number): number {
    const maxBatch = this.#maxBatch[task] ?? 0;
    assert(batch >= 1 && batch <= maxBatch, "a batch has a time");
    return (cores - 1) * maxBatch + batch - 1;
  }
}
