/** Tells how sure a simulated violation rate is, from blocks of its time. */
import { clustering } from "./pooled/policy-search.ts";
import { BLOCKS } from "./pooled/pooled-simulation.ts";

/**
 * Violations of a simulation, counted in blocks of its time: what their spread says of the total.
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

  /**
   * Gives the rate as a level of one SLO states it: one that the true rate hardly exceeds, three
   * standard errors more and three violations (rule of three).
   */
  upperRate(queries: number): number {
    const violations = this.#total;
    const error = Math.sqrt(
      violations * clustering({ violations, violationsByBlock: this.#byBlock }),
    );
    return Math.min(1, (violations + 3 * error + 3) / Math.max(1, queries));
  }
}
