/** What is asked of forecasts: how far off they are, and how often and how much too low. */

/** A peak that much above the last window's is a rise. */
const RISE = 1.2;

/** Shares, not percents. */
export interface ForecastFigures {
  readonly count: number;
  /** Mean absolute error, as a share of what came. */
  readonly mape: number;
  /** Of the forecasts, those below what came. */
  readonly underShare: number;
  /**
   * What they lacked, as a share of what came, mean over all forecasts; and what they had too much.
   */
  readonly under: number;
  readonly over: number;
  readonly rises: { readonly count: number; readonly mape: number; readonly under: number };
}

/**
 * @param peaks what came, all above 0.
 * @param lastMaxima highest second of the last window; tells rises.
 */
export function figuresOf(
  forecasts: ArrayLike<number>,
  peaks: ArrayLike<number>,
  lastMaxima: ArrayLike<number>,
): ForecastFigures {
  const sums = { error: 0, belowCount: 0, under: 0, rises: 0, riseError: 0, riseUnder: 0 };
  for (let at = 0; at < peaks.length; at++) {
    const peak = peaks[at] ?? 0;
    const lack = (peak - (forecasts[at] ?? 0)) / peak;
    sums.error += Math.abs(lack);
    sums.under += Math.max(lack, 0);
    if (lack > 0) sums.belowCount++;
    if (peak <= RISE * (lastMaxima[at] ?? 0)) continue;
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
