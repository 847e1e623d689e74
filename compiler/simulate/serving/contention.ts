/** How much longer work takes while others work on the same machine. */
import type { ServingPath } from "stratagem-runtime/internal/bundle/schema";

/** Of the pace at which work goes on, so that something always does. */
const LEAST_PACE = 1e-3;

/**
 * The factor by how many are busy at once, which may be a fraction: linear between what was
 * measured. Beyond it nothing changes up to as many as there are processors, and what they have is
 * shared from there on.
 *
 * The server's process is not one of many who share. It runs for a fraction of a millisecond and
 * sleeps, so that the system lets it go first when it wakes (its wake-up delay is measured), and
 * workers stand back behind it: what it takes, they lack.
 */
export class Contention {
  readonly #factor: readonly number[];
  readonly #processors: number;

  constructor({ contention, processors }: Pick<ServingPath, "contention" | "processors">) {
    this.#factor = contention;
    this.#processors = processors;
  }

  /** Of the server's process. @param busy how many work at once, the server among them. */
  serverFactorOf(busy: number): number {
    return this.factorOf(Math.min(busy, this.#processors));
  }

  /** Of those beside the server's process while it works. @param busy as above. */
  besideServerOf(busy: number): number {
    if (busy <= this.#processors) return this.factorOf(busy);
    const left = busy / this.factorOf(busy) - 1 / this.serverFactorOf(busy);
    return (busy - 1) / Math.max(LEAST_PACE, left);
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
