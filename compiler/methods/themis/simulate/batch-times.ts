/** Service time of a batch by number of cores. */
import type { ScaledTask } from "stratagem-runtime/internal/bundle/schema";
import { assert } from "stratagem-runtime/internal/core/assert";

/** Service times of batches by number of cores, as planned with. */
export class BatchTimes {
  /** Largest batch of any variant. */
  readonly maxBatch: number;
  /** Indexed by variant of all tasks, [maxCores, maxBatch of the variant]. */
  readonly #ms: readonly Float64Array[];
  readonly #maxBatch: Uint32Array;

  constructor(tasks: readonly ScaledTask[]) {
    const tables = tasks.flatMap(({ variants }) => variants.map(({ latency }) => latency.ms));
    this.#ms = tables.map(({ data }) => Float64Array.from(data));
    this.#maxBatch = Uint32Array.from(tables, ({ shape }) => shape[1] ?? 0);
    this.maxBatch = Math.max(...this.#maxBatch);
  }

  nextMs(variant: number, batch: number, cores: number): number {
    const ms = this.#ms[variant]?.[this.cell(variant, batch, cores)] ?? Number.NaN;
    assert(ms > 0, "cores in force have a time");
    return ms;
  }

  /** Index of a batch on a number of cores in the table of a variant. */
  protected cell(variant: number, batch: number, cores: number): number {
    const maxBatch = this.#maxBatch[variant] ?? 0;
    assert(batch >= 1 && batch <= maxBatch, "a batch has a time");
    return (cores - 1) * maxBatch + batch - 1;
  }
}
