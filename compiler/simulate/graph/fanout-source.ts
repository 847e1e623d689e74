/** Draws how many queries come out of one. */
import type { Rng } from "stratagem-runtime/internal/core/rng";

/**
 * Rounded: the mean up or down, as close to it as whole numbers can be. Poisson: as objects in a
 * picture.
 */
export type FanoutMode = "rounded" | "poisson";

/** Draws how many queries come out of one. */
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
    // A coin only where there is something to decide, so that a whole mean does not shift what
    // follows.
    return mean > whole && this.#rng.nextFloat() < mean - whole ? whole + 1 : whole;
  }

  /** Counts the steps of a unit Poisson process in parts short enough for e^-part. */
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
