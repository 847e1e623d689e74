/** Runs the forecasts of a simulation beforehand, look by look. */
import { HISTORY_SECONDS } from "stratagem-runtime/internal/core/forecasters";
import { RateHistory } from "stratagem-runtime/internal/core/rate-history";

export interface LookHistories {
  readonly lookCount: number;
  /** [lookCount, HISTORY_SECONDS]: requests per second, oldest first, NaN before there were any. */
  readonly perSecondQps: Float64Array;
}

/**
 * What a simulation's dispatcher knows of the traffic at each look until a time: forecasts of a
 * model that cannot be asked in between are made of it beforehand, for `forecastByLook`.
 * @param arrivalMs of the requests, non-decreasing.
 * @param tickMs of the bundle's policy.
 * @param untilMs exclusive.
 */
export function lookHistories(
  arrivalMs: Float64Array,
  tickMs: number,
  untilMs: number,
): LookHistories {
  const [firstMs = Number.POSITIVE_INFINITY] = arrivalMs;
  const looksMs: number[] = [];
  for (let lookMs = firstMs + tickMs; lookMs < untilMs; lookMs += tickMs) looksMs.push(lookMs);
  const perSecondQps = new Float64Array(looksMs.length * HISTORY_SECONDS);
  const history = new RateHistory();
  let next = 0;
  for (const [look, lookMs] of looksMs.entries()) {
    // Requests that come at the time of a look come before it.
    for (; (arrivalMs[next] ?? Number.NaN) <= lookMs; next++) {
      history.onArrival(arrivalMs[next] ?? Number.NaN);
    }
    history.advance(lookMs);
    perSecondQps.set(history.perSecondQps, look * HISTORY_SECONDS);
  }
  return { lookCount: looksMs.length, perSecondQps };
}
