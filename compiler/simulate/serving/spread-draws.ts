/** Draws times from a measured spread. */
import type { Spread } from "stratagem-runtime/internal/bundle/schema";
import type { Rng } from "stratagem-runtime/internal/core/rng";
import { quantileAt, quantileKnots } from "../../numeric/quantile-distribution.ts";

/** The quantiles between which the distribution is not linear are multiples of 1 / CELLS. */
const CELLS = 100;

/** Times of one kind, ms; where all are 0, nothing is drawn. */
export class SpreadDraws {
  /** [CELLS + 1]: quantiles of 0, 1 / CELLS, …, 1. */
  readonly #quantileMs: Float64Array;
  readonly #isZero: boolean;
  readonly #rng: Rng;

  constructor({ p50, p95, p99, mean }: Spread, rng: Rng) {
    const knots = quantileKnots(p50, p95, p99, mean);
    this.#quantileMs = Float64Array.from({ length: CELLS + 1 }, (_, cell) =>
      cell < CELLS ? quantileAt(knots, 0, cell / CELLS) : (knots.at(-1) ?? Number.NaN),
    );
    this.#isZero = p99 === 0 && mean === 0;
    this.#rng = rng;
  }

  nextMs(): number {
    if (this.#isZero) return 0;
    const place = CELLS * this.#rng.nextShortFloat();
    const cell = Math.floor(place);
    const lowMs = this.#quantileMs[cell] ?? Number.NaN;
    return lowMs + ((this.#quantileMs[cell + 1] ?? Number.NaN) - lowMs) * (place - cell);
  }
}
