/**
 * Sequential test that is valid at any time: observes values of 0 to 1 whose conditional mean is
 * promised to have an upper bound.
 */

/** Stakes of the bets on the next value, as a share of the maximum loss, from careful to bold. */
export const STAKES = [0.1, 0.25, 0.5, 0.9];
/** Index of the stake whose log wealth dates a change. */
const DATING_INDEX = 3;

/**
 * Shiryaev-Roberts sum of betting e-values, averaged over several stakes: a new bet starts at each
 * observation, so a change is detected whenever it occurs. While the promise holds, the expected
 * number of observations until `evidence` reaches A is at least A. Source: Shin, Ramdas & Rinaldo,
 * "E-detectors" (2022), definition 2.2 and theorem 2.4; the bets are those of Waudby-Smith &
 * Ramdas, "Estimating means of bounded random variables by betting" (2023), §4.
 */
export class EDetector {
  readonly #sums = STAKES.map(() => 0);
  /** Log wealth of that stake, restarted at 0 after a loss. */
  #climb = 0;

  /** Mean of the sums: it breaks a promise once it reaches what was agreed. */
  get evidence(): number {
    return this.#sums.reduce((total, sum) => total + sum, 0) / STAKES.length;
  }

  /** Whether recent observations contradict the promise; a change began with the first of them. */
  get isClimbing(): boolean {
    return this.#climb > 0;
  }

  /**
   * @param value 0 to 1.
   * @param promised upper bound of its mean, given all earlier values; above 0, and chosen before
   * the value is seen.
   */
  observe(value: number, promised: number): void {
    for (const [index, stake] of STAKES.entries()) {
      const gain = 1 + stake * (value / promised - 1);
      // Evidence beyond any threshold is useless, and must stay finite.
      const sum = Math.min(MOST, (1 + (this.#sums[index] ?? 0)) * gain);
      this.#sums[index] = sum;
      if (index === DATING_INDEX) this.#climb = Math.max(0, this.#climb + Math.log(gain));
    }
  }

  restart(): void {
    this.#sums.fill(0);
    this.#climb = 0;
  }
}

const MOST = 1e100;
