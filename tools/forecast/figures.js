/** What is asked of forecasts: how far off they are, and how often and how much too low. */

/** A peak that much above the last window's is a rise. */
export const RISE = 1.2;

/**
 * @param {ArrayLike<number>} forecasts
 * @param {ArrayLike<number>} peaks what came, all above 0.
 * @param {ArrayLike<number>} lastMaxima highest second of the last window; tells rises.
 * @returns shares, not percents: `mape`; `underShare`, forecasts below what came; `under`, the mean of what they lacked, as a share of what came, over
 * all forecasts; `over` likewise; and of the rises their number, `mape` and `under`.
 */
export function figuresOf(forecasts, peaks, lastMaxima) {
  const sums = { error: 0, belowCount: 0, under: 0, rises: 0, riseError: 0, riseUnder: 0 };
  for (let at = 0; at < peaks.length; at++) {
    const lack = (peaks[at] - forecasts[at]) / peaks[at];
    sums.error += Math.abs(lack);
    sums.under += Math.max(lack, 0);
    if (lack > 0) sums.belowCount++;
    if (peaks[at] <= RISE * lastMaxima[at]) continue;
    sums.rises++;
    sums.riseError += Math.abs(lack);
    sums.riseUnder += Math.max(lack, 0);
  }
  const count = peaks.length;
  return {
    count,
    mape: sums.error / count,
    underShare: sums.belowCount / count,
    under: sums.under / count,
    over: (sums.error - sums.under) / count,
    rises: {
      count: sums.rises,
      mape: sums.riseError / sums.rises,
      under: sums.riseUnder / sums.rises,
    },
  };
}
