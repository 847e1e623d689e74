/** Draws times from a measured distribution. */
import type { Spread } from "stratagem-runtime/internal/bundle/schema";
import { quantileAt, quantileKnots } from "stratagem-runtime/internal/core/quantile-distribution";
import type { Rng } from "stratagem-runtime/internal/core/rng";

/** The quantiles between which the distribution is not linear are multiples of 1 / CELLS. */
const CELLS = 100;

/**
 * Times of one kind, ms; if all are 0, no random number is drawn. Their mean is the measured one,
 * which is what queues depend on: linear interpolation between quantiles has a larger mean, since
 * times gather near the lower quantile, so all are shortened by the same factor.
 */
export class SpreadDraws {
  /** [CELLS + 1]: quantiles of 0, 1 / CELLS, …, 1. */
  readonly #quantileMs: Float64Array;
  readonly #isZero: boolean;
  readonly #rng: Rng;

  constructor({ p50, p95, p99, mean }: Spread, rng: Rng) {
    const knots = quantileKnots(p50, p95, p99, mean);
    const quantileMs = Float64Array.from({ length: CELLS + 1 }, (_, cell) =>
      cell < CELLS ? quantileAt(knots, 0, cell / CELLS) : (knots.at(-1) ?? Number.NaN),
    );
    const drawnMs = meanOf(quantileMs);
    this.#quantileMs = drawnMs > mean ? quantileMs.map((ms) => (ms * mean) / drawnMs) : quantileMs;
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

/** Mean of the piecewise linear distribution. */
function meanOf(quantileMs: Float64Array): number {
  let sum = 0;
  for (let cell = 0; cell < CELLS; cell++) {
    sum += ((quantileMs[cell] ?? 0) + (quantileMs[cell + 1] ?? 0)) / 2;
  }
  return sum / CELLS;
}
