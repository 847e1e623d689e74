/** Slowdown of work while others work on the same machine. */
import type { ServingPath } from "stratagem-runtime/internal/bundle/schema";

/**
 * Slowdown factor by the number of busy processors, which may be fractional: linear between
 * measured points. Beyond them it is constant up to the number of processors; from there on the
 * processors are shared.
 *
 * The server's process does not share equally. It runs for a fraction of a millisecond and sleeps,
 * so the system schedules it first when it wakes (its wake-up delay is measured), and workers yield
 * to it: the time it takes is lost to them.
 */
export class Contention {
  readonly #factor: readonly number[];
  readonly processors: number;

  constructor({ contention, processors }: Pick<ServingPath, "contention" | "processors">) {
    this.#factor = contention;
    this.processors = processors;
  }

  /** @param busy number at work, at least 0. */
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
    return last * Math.max(1, busy / Math.max(measured, this.processors));
  }
}
