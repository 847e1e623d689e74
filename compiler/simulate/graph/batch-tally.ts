/** Counts the batches of each variant. */
export interface TaskVariantOutcome {
  /** Queries of the task that it served. */
  readonly queries: number;
  readonly batches: number;
  readonly meanBatch: number | null;
  readonly accuracy: number;
}

/** Totals of a task. */
export type TaskBatches = Pick<TaskVariantOutcome, "queries" | "batches" | "meanBatch">;

interface CountedTask {
  readonly name: string;
  readonly variants: readonly { readonly name: string; readonly accuracy: number }[];
}

/** Counts the batches of each variant, by its index among those of all tasks, in task order. */
export class BatchTally {
  readonly #tasks: readonly CountedTask[];
  readonly #queriesByVariant: Float64Array;
  readonly #batchesByVariant: Float64Array;

  constructor(tasks: readonly CountedTask[]) {
    const variantCount = tasks.reduce((total, { variants }) => total + variants.length, 0);
    this.#tasks = tasks;
    this.#queriesByVariant = new Float64Array(variantCount);
    this.#batchesByVariant = new Float64Array(variantCount);
  }

  countBatch(variant: number, batch: number): void {
    this.#batchesByVariant[variant] = (this.#batchesByVariant[variant] ?? 0) + 1;
    this.#queriesByVariant[variant] = (this.#queriesByVariant[variant] ?? 0) + batch;
  }

  /** Keyed by `task/variant`; and per task, in task order. */
  outcome(): {
    readonly byVariant: Record<string, TaskVariantOutcome>;
    readonly tasks: readonly TaskBatches[];
  } {
    const byVariant: Record<string, TaskVariantOutcome> = {};
    let next = 0;
    const tasks = this.#tasks.map(({ name, variants }) => {
      let served = 0;
      let started = 0;
      for (const { name: variant, accuracy } of variants) {
        const queries = this.#queriesByVariant[next] ?? 0;
        const batches = this.#batchesByVariant[next] ?? 0;
        const key = `${name}/${variant}`;
        // A variant that runs in several pools occurs once for each.
        const before = byVariant[key] ?? { queries: 0, batches: 0 };
        const sum = { queries: before.queries + queries, batches: before.batches + batches };
        byVariant[key] = { ...sum, meanBatch: ratio(sum.queries, sum.batches), accuracy };
        served += queries;
        started += batches;
        next++;
      }
      return { queries: served, batches: started, meanBatch: ratio(served, started) };
    });
    return { byVariant, tasks };
  }
}

/** Null if the denominator is 0. */
export function ratio(numerator: number, denominator: number): number | null {
  return denominator === 0 ? null : numerator / denominator;
}
