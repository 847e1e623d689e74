/** Seeded draws that generators of cases share. */
import { Rng } from "stratagem-runtime/internal/core/rng";

export class Draw {
  readonly #rng: Rng;

  /** @param index of the case, which alone decides what is drawn: a case can be tried again. */
  constructor(seed: number, index: number) {
    this.#rng = new Rng(seed, index);
  }

  /** 0 to count - 1. */
  below(count: number): number {
    return Math.floor(this.#rng.nextFloat() * count);
  }

  isOneIn(count: number): boolean {
    return this.below(count) === 0;
  }

  /** @throws Error for a list of none. */
  of<T>(list: readonly T[]): T {
    const drawn = list[this.below(list.length)];
    if (drawn === undefined) throw new Error("expected a list to draw from");
    return drawn;
  }

  /** One more often than two, two than three. */
  few(): number {
    let count = 1;
    while (count < 8 && this.isOneIn(2)) count++;
    return count;
  }
}
