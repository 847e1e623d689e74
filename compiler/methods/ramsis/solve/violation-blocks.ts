/** Error of a simulated violation rate, from blocks of its time. */
import { upperRate } from "./pooled/policy-search.ts";
import { BLOCKS } from "./pooled/pooled-simulation.ts";

/**
 * Violations of a simulation, counted in blocks of its time: their spread gives the error of the
 * total.
 */
export class ViolationBlocks {
  readonly #durationMs: number;
  readonly #byBlock = new Float64Array(BLOCKS);
  #total = 0;

  constructor(durationMs: number) {
    this.#durationMs = durationMs;
  }

  /** @param arrivalMs within the duration. */
  count(arrivalMs: number): void {
    const block = Math.min(BLOCKS - 1, Math.floor((BLOCKS * arrivalMs) / this.#durationMs));
    this.#byBlock[block] = (this.#byBlock[block] ?? Number.NaN) + 1;
    this.#total++;
  }

  /** Returns the upper bound that a level of one SLO states. */
  upperRate(queries: number): number {
    return upperRate({ violations: this.#total, violationsByBlock: this.#byBlock }, queries);
  }
}
