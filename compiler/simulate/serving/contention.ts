/** How much longer work takes while others work on the same machine. */
import type { ServingPath } from "stratagem-runtime/internal/bundle/schema";

/**
 * The factor by how many are busy at once, which may be a fraction: linear between what was
 * measured. Beyond it nothing changes up to as many as there are processors, and what they have is
 * shared from there on.
 */
export class Contention {
  readonly #factor: readonly number[];
  readonly #processors: number;

  constructor({ contention, processors }: Pick<ServingPath, "contention" | "processors">) {
    this.#factor = contention;
    this.#processors = processors;
  }

  /** @param busy how many work at once, at least 0. */
  factorOf(busy: number): number {
    const factor = this.#factor;
    const measured = factor.length;
    if (busy <= 1) return 1;
    if (busy < measured) {
      const below = Math.floor(busy);
      const low = factor[below - 1] ?? 1;
      return low + (busy - below) * ((factor[below] ?? low) - low);
    }
    const last = factor[measured - 1] ?? 1;
    return last * Math.max(1, busy / Math.max(measured, this.#processors));
  }
}
