/** What workers of each pool ran: heterogeneous plans are judged by who does the work. */
import { head, line, type MetricLine } from "./server/metrics/exposition.ts";

export class PoolRuns {
  readonly #names: readonly string[];
  readonly #batches: number[];
  readonly #rows: number[];

  /** @param names of the pools, in their order. */
  constructor(names: readonly string[]) {
    this.#names = names;
    this.#batches = names.map(() => 0);
    this.#rows = names.map(() => 0);
  }

  /** @param pool by index. */
  onRun(pool: number, rows: number): void {
    this.#batches[pool] = (this.#batches[pool] ?? 0) + 1;
    this.#rows[pool] = (this.#rows[pool] ?? 0) + rows;
  }

  metricLines(): MetricLine[] {
    const family = (name: string, help: string, counts: readonly number[]) => [
      head(name, "counter", help),
      ...this.#names.map((pool, index) => line(name, { pool }, counts[index] ?? 0)),
    ];
    return [
      ...family("stratagem_pool_batches_total", "Batches given to a pool's workers", this.#batches),
      ...family("stratagem_pool_rows_total", "Rows of these batches", this.#rows),
    ];
  }
}
