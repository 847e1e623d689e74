/** Forecasts for the dispatcher, which a driver asks for. */
export interface Forecasts {
  /**
   * The dispatcher may have looked at the traffic: then another forecast is begun.
   * @param tell called with it, queries/s, or with NaN where it failed.
   */
  follow(tell: (qps: number) => void): void;
}
