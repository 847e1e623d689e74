/** Adds up by task what is kept by variant, for metrics and gauges of tasks. */
import type { ThemisShape } from "./shape.ts";

/** Quantities that are added up: each has an array of its own. */
export const TARGETS = 0;
export const TARGET_CORES = 1;
export const ASSIGNED = 2;
export const READY = 3;
export const HELD = 4;
const KINDS = 5;

/**
 * Sums are valid until the next of their kind; if tasks have one variant each, nothing is added.
 */
export class TaskSums {
  readonly #variantStart: Uint32Array;
  readonly #isPlain: boolean;
  readonly #sums: readonly Uint32Array[];

  constructor({ taskCount, variantCount, variantStart }: ThemisShape) {
    this.#variantStart = variantStart;
    this.#isPlain = variantCount === taskCount;
    this.#sums = Array.from({ length: KINDS }, () => new Uint32Array(taskCount));
  }

  /** @param byVariant of all tasks. */
  of(kind: number, byVariant: Uint32Array): Uint32Array {
    if (this.#isPlain) return byVariant;
    return this.#fold(kind, byVariant, (sum, one) => sum + one);
  }

  mostOf(kind: number, byVariant: Uint32Array): Uint32Array {
    if (this.#isPlain) return byVariant;
    return this.#fold(kind, byVariant, Math.max);
  }

  #fold(
    kind: number,
    byVariant: Uint32Array,
    fold: (sum: number, one: number) => number,
  ): Uint32Array {
    const sums = this.#sums[kind]!;
    const start = this.#variantStart;
    for (let task = 0; task < sums.length; task++) {
      let sum = 0;
      for (let variant = start[task]!; variant < start[task + 1]!; variant++) {
        sum = fold(sum, byVariant[variant]!);
      }
      sums[task] = sum;
    }
    return sums;
  }
}
