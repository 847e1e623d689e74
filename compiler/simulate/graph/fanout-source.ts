/** Draws the number of queries that one query produces. */
import type { Rng } from "stratagem-runtime/internal/core/rng";

/** Rounded: the mean rounded up or down at random. Poisson: like objects in a picture. */
export type FanoutMode = "rounded" | "poisson";

export class FanoutSource {
  readonly #mode: FanoutMode;
  readonly #rng: Rng;

  constructor(mode: FanoutMode, rng: Rng) {
    this.#mode = mode;
    this.#rng = rng;
  }

  next(mean: number): number {
    return this.#mode === "poisson" ? this.#poisson(mean) : this.rounded(mean);
  }

  rounded(mean: number): number {
    const whole = Math.floor(mean);
    // Draws a random number only if needed, so that an integer mean does not shift later draws.
    return mean > whole && this.#rng.nextFloat() < mean - whole ? whole + 1 : whole;
  }

  /** Counts the steps of a unit Poisson process, in parts short enough for e^-part. */
  #poisson(mean: number): number {
    let count = 0;
    for (let left = mean; left > 0; left -= 16) {
      const limit = Math.exp(-Math.min(left, 16));
      let product = this.#rng.nextFloat();
      while (product > limit) {
        count++;
        product *= this.#rng.nextFloat();
      }
    }
    return count;
  }
}
