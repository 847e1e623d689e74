/** A sequential test that a share of failures is below a bound, request by request. */
import { STAKES } from "../../server/measures/e-detector.ts";

/** Beyond it evidence has no use, and it is to stay finite. */
const MOST_LOG = 200;

/**
 * Money bet on each request against "failures are at least so large a share, whatever came before".
 * Of that nobody gains in the mean, so the chance that what began as 1 ever reaches 1/alpha is at
 * most alpha, however often anybody looks (Ville). The bets are those of Waudby-Smith & Ramdas,
 * "Estimating means of bounded random variables by betting" (2023), §4, with several stakes.
 */
export class BelowTest {
  readonly #logs = STAKES.map(() => 0);

  /** What has become of 1: the mean over the stakes. */
  get evidence(): number {
    return this.#logs.reduce((sum, log) => sum + Math.exp(log), 0) / STAKES.length;
  }

  /**
   * @param kept requests without a failure. @param failed the others.
   * @param bound the share that is bet against, above 0 and below 1.
   */
  observe(kept: number, failed: number, bound: number): void {
    for (const [index, stake] of STAKES.entries()) {
      const gain = Math.log(1 + (stake * bound) / (1 - bound));
      const sum = (this.#logs[index] ?? 0) + kept * gain + failed * Math.log(1 - stake);
      this.#logs[index] = Math.min(MOST_LOG, sum);
    }
  }
}
