/** Means over windows that end now, of something whose integral is looked at now and then. */

/**
 * Means over windows that end with the last look, of something of which looks tell the integral. A
 * window that begins between two looks counts from the earlier one, and one that is longer than
 * what is known is what is known.
 */
export class WindowMean {
  /** Rings of the looks that there were, of which the oldest are forgotten. */
  readonly #atMs: Float64Array;
  readonly #integral: Float64Array;
  #count = 0;

  /** @param looks that the longest window spans; the one at time 0, of nothing, counts. */
  constructor(looks: number) {
    this.#atMs = new Float64Array(looks + 1);
    this.#integral = new Float64Array(looks + 1);
    this.push(0, 0);
  }

  push(nowMs: number, integral: number): void {
    const at = this.#count % this.#atMs.length;
    this.#atMs[at] = nowMs;
    this.#integral[at] = integral;
    this.#count++;
  }

  /** 0 where no time has passed. */
  over(windowMs: number): number {
    const last = this.#count - 1;
    const oldest = Math.max(0, this.#count - this.#atMs.length);
    const fromMs = this.#at(this.#atMs, last) - windowMs;
    let first = last;
    while (first > oldest && this.#at(this.#atMs, first) > fromMs) first--;
    const spanMs = this.#at(this.#atMs, last) - this.#at(this.#atMs, first);
    const change = this.#at(this.#integral, last) - this.#at(this.#integral, first);
    return spanMs > 0 ? change / spanMs : 0;
  }

  #at(ring: Float64Array, look: number): number {
    return ring[look % ring.length] ?? Number.NaN;
  }
}
