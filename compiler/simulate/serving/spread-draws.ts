/** Draws times from a measured spread. */
import type { Spread } from "stratagem-runtime/internal/bundle/schema";
import type { Rng } from "stratagem-runtime/internal/core/rng";
import { quantileAt, quantileKnots } from "../../numeric/quantile-distribution.ts";

/** Times of one kind, ms; where all are 0, nothing is drawn. */
export class SpreadDraws {
  readonly #knotMs: Float64Array;
  readonly #isZero: boolean;
  readonly #rng: Rng;

  constructor({ p50, p95, p99, mean }: Spread, rng: Rng) {
    this.#knotMs = quantileKnots(p50, p95, p99, mean);
    this.#isZero = p99 === 0 && mean === 0;
    this.#rng = rng;
  }

  nextMs(): number {
    return this.#isZero ? 0 : quantileAt(this.#knotMs, 0, this.#rng.nextFloat());
  }
}
