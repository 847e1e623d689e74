/** Sequential test of the hypothesis that the failure rate is below a bound, request by request. */
import { STAKES } from "../../server/measures/e-detector.ts";

/** Limit that keeps the evidence finite. */
const MOST_LOG = 200;

/**
 * Wealth of a bettor against the hypothesis that the failure rate is at least the bound, whatever
 * came before. Under that hypothesis no bet gains on average, so the probability that the wealth
 * ever grows from 1 to 1/alpha is at most alpha, under repeated looks as well (Ville). The bets are
 * those of Waudby-Smith & Ramdas, "Estimating means of bounded random variables by betting" (2023),
 * §4, with several stakes.
 */
export class BelowTest {
  readonly #logs = STAKES.map(() => 0);

  /** Wealth from an initial 1: the mean over the stakes. */
  get evidence(): number {
    return this.#logs.reduce((sum, log) => sum + Math.exp(log), 0) / STAKES.length;
  }

  /**
   * @param kept requests without a failure. @param failed requests with a failure.
   * @param bound of the failure rate, between 0 and 1, exclusive.
   */
  observe(kept: number, failed: number, bound: number): void {
    for (const [index, stake] of STAKES.entries()) {
      const gain = Math.log(1 + (stake * bound) / (1 - bound));
      const sum = (this.#logs[index] ?? 0) + kept * gain + failed * Math.log(1 - stake);
      this.#logs[index] = Math.min(MOST_LOG, sum);
    }
  }
}
