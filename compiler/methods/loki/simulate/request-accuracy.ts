/** Averages the accuracy of requests over the paths their queries took. */
import { pathAccuracy } from "stratagem-runtime/internal/bundle/path-accuracy";
import type { LokiBundle } from "stratagem-runtime/internal/bundle/schema";

/**
 * End-to-end accuracy of requests: for each leaf the mean over its queries by the paths they took,
 * weighted over the leaves that were reached.
 */
export class RequestAccuracy {
  readonly #leafByTask: Int32Array;
  readonly #accuracyOf: readonly ((cell: number) => number)[];
  readonly #weight: Float64Array;
  /** [requestCapacity, leafCount], both. */
  readonly #sum: Float64Array;
  readonly #count: Uint32Array;

  constructor({ tasks, leaves }: LokiBundle, requestCapacity: number) {
    this.#leafByTask = new Int32Array(tasks.length).fill(-1);
    for (const [leaf, { task }] of leaves.entries()) this.#leafByTask[task] = leaf;
    this.#accuracyOf = leaves.map((leaf) => (cell) => pathAccuracy(tasks, leaf, cell));
    this.#weight = Float64Array.from(leaves, ({ weight }) => weight);
    this.#sum = new Float64Array(requestCapacity * leaves.length);
    this.#count = new Uint32Array(requestCapacity * leaves.length);
  }

  isLeaf(task: number): boolean {
    return (this.#leafByTask[task] ?? -1) >= 0;
  }

  /** Opens the slot for a new request. */
  open(request: number): void {
    const begin = request * this.#weight.length;
    this.#sum.fill(0, begin, begin + this.#weight.length);
    this.#count.fill(0, begin, begin + this.#weight.length);
  }

  /**
   * Records a served query of a leaf task.
   * @param cell of its path in the table of the leaf.
   */
  record(request: number, task: number, cell: number): void {
    const leaf = this.#leafByTask[task] ?? 0;
    const at = request * this.#weight.length + leaf;
    this.#sum[at] = (this.#sum[at] ?? 0) + (this.#accuracyOf[leaf]?.(cell) ?? Number.NaN);
    this.#count[at] = (this.#count[at] ?? 0) + 1;
  }

  /** NaN for a request that reached no leaf. */
  of(request: number): number {
    let weights = 0;
    let sum = 0;
    for (let leaf = 0; leaf < this.#weight.length; leaf++) {
      const at = request * this.#weight.length + leaf;
      const count = this.#count[at] ?? 0;
      if (count === 0) continue;
      const weight = this.#weight[leaf] ?? 0;
      sum += (weight * (this.#sum[at] ?? 0)) / count;
      weights += weight;
    }
    return sum / weights;
  }
}
