/** Means over windows that end now, of a quantity whose integral is sampled. */

/**
 * Means over windows that end at the last sample of an integral. A window that begins between two
 * samples starts at the earlier one; a window longer than the history is cut to it.
 */
export class WindowMean {
  /** Ring buffers of samples; the oldest are overwritten. */
  readonly #atMs: Float64Array;
  readonly #integral: Float64Array;
  #count = 0;

  /** @param looks samples that the longest window spans, including the one at time 0. */
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

  /** 0 if no time has passed. */
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
