/** Forecasts for the dispatcher, which a driver asks for. */
export interface Forecasts {
  /**
   * Called when the dispatcher may have recorded new traffic; starts another forecast then.
   * @param tell called with the forecast, queries/s, or with NaN if it failed.
   */
  follow(tell: (qps: number) => void): void;
}
