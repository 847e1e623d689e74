/** Hands out the arrivals of a simulation one at a time. */
import type { ArrivalSource } from "./arrivals.ts";

const BLOCK_SIZE = 4096;

/** Arrivals of a source before the end of a simulation. */
export class ArrivalFeed {
  /** Time of the next arrival; Infinity if there are no more. */
  nextMs = Number.POSITIVE_INFINITY;
  readonly #source: ArrivalSource;
  readonly #endMs: number;
  readonly #blockMs = new Float64Array(BLOCK_SIZE);
  #count = 0;
  #position = 0;

  /** @param endMs arrivals at this time or later are ignored. */
  constructor(source: ArrivalSource, endMs: number) {
    this.#source = source;
    this.#endMs = endMs;
    this.advance();
  }

  advance(): void {
    if (this.#position === this.#count) {
      this.#count = this.#source.fill(this.#blockMs);
      this.#position = 0;
    }
    const arrivalMs = this.#position < this.#count ? this.#blockMs[this.#position] : undefined;
    this.#position++;
    this.nextMs =
      arrivalMs !== undefined && arrivalMs < this.#endMs ? arrivalMs : Number.POSITIVE_INFINITY;
  }
}
