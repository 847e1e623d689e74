/** Runs the forecasts of a simulation beforehand, look by look. */
import { HISTORY_BEATS } from "stratagem-runtime/internal/core/forecasters";
import { RateHistory } from "stratagem-runtime/internal/core/rate-history";

interface LookHistories {
  readonly lookCount: number;
  /** [lookCount, HISTORY_BEATS]: requests of each beat, oldest first, NaN before there were any. */
  readonly perBeat: Float64Array;
}

/**
 * What a simulation's dispatcher knows of the traffic at each look until a time: forecasts of a
 * model that cannot be asked in between are made of it beforehand, for `forecastByLook`.
 * @param arrivalMs of the requests, non-decreasing.
 * @param tickMs of the bundle's policy. @param beatMs of its SLO.
 * @param untilMs exclusive.
 */
export function lookHistories(
  arrivalMs: Float64Array,
  { tickMs, beatMs }: { readonly tickMs: number; readonly beatMs: number },
  untilMs: number,
): LookHistories {
  const [firstMs = Number.POSITIVE_INFINITY] = arrivalMs;
  const looksMs: number[] = [];
  for (let lookMs = firstMs + tickMs; lookMs < untilMs; lookMs += tickMs) looksMs.push(lookMs);
  const perBeat = new Float64Array(looksMs.length * HISTORY_BEATS);
  const history = new RateHistory(beatMs);
  let next = 0;
  for (const [look, lookMs] of looksMs.entries()) {
    // Requests that come at the time of a look come before it.
    for (; (arrivalMs[next] ?? Number.NaN) <= lookMs; next++) {
      history.onArrival(arrivalMs[next] ?? Number.NaN);
    }
    history.advance(lookMs);
    perBeat.set(history.perBeat, look * HISTORY_BEATS);
  }
  return { lookCount: looksMs.length, perBeat };
}
