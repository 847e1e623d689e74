/** A histogram of times in steps of a few per cent, whose memory never grows. */

/** Steps to a doubling: neighbouring bounds are 2.2 % apart. */
const STEPS = 32;
/** Least time that has a step of its own, ms: 2^-10. */
const LEAST_LOG2 = -10;
/** Up to 2^18 ms, 262 s; what is beyond counts as that. */
const MOST_LOG2 = 18;
const STEP_COUNT = (MOST_LOG2 - LEAST_LOG2) * STEPS;

/** Counts of positive numbers; quantiles are within a step, 2.2 %, of those of the numbers. */
export class TimeSketch {
  readonly #counts = new Uint32Array(STEP_COUNT);
  #count = 0;

  get count(): number {
    return this.#count;
  }

  /** @param value above 0; anything else counts as the least. */
  add(value: number): void {
    const step = Math.floor((Math.log2(value) - LEAST_LOG2) * STEPS);
    // Also true of NaN, so that no number is lost.
    const place = !(step > 0) ? 0 : step < STEP_COUNT ? step : STEP_COUNT - 1;
    this.#counts[place] = (this.#counts[place] ?? 0) + 1;
    this.#count++;
  }

  /** Adds what another has counted. */
  merge(other: TimeSketch): void {
    for (let step = 0; step < STEP_COUNT; step++) {
      this.#counts[step] = (this.#counts[step] ?? 0) + (other.#counts[step] ?? 0);
    }
    this.#count += other.#count;
  }

  clear(): void {
    this.#counts.fill(0);
    this.#count = 0;
  }

  /**
   * Nearest rank, at the place of that rank within its step.
   * @param share in (0, 1]. @returns NaN without numbers.
   */
  quantile(share: number): number {
    if (this.#count === 0) return Number.NaN;
    const rank = Math.max(1, Math.ceil(share * this.#count));
    let below = 0;
    for (let step = 0; step < STEP_COUNT; step++) {
      const here = this.#counts[step] ?? 0;
      if (below + here >= rank) {
        const within = (rank - below - 0.5) / here;
        return 2 ** (LEAST_LOG2 + (step + within) / STEPS);
      }
      below += here;
    }
    return Number.NaN;
  }
}
