/** Computes the forecasts of a simulation in advance, poll by poll. */
import { HISTORY_BEATS } from "stratagem-runtime/internal/core/forecasters";
import { RateHistory } from "stratagem-runtime/internal/core/rate-history";

interface LookHistories {
  readonly lookCount: number;
  /**
   * [lookCount, HISTORY_BEATS]: requests of each heartbeat, oldest first, NaN before there were
   * any.
   */
  readonly perBeat: Float64Array;
}

/**
 * Returns the traffic that a simulation's dispatcher knows at each poll until a time: forecasts of
 * a model that cannot be called during the simulation are computed from it in advance, for
 * `forecastByPoll`.
 * @param arrivalMs of the requests, non-decreasing.
 * @param tickMs of the bundle's policy.
 * @param beatMs of its SLO.
 * @param untilMs exclusive.
 */
export function pollHistories(
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
    // Requests that arrive at the time of a poll come before it.
    for (; (arrivalMs[next] ?? Number.NaN) <= lookMs; next++) {
      history.onArrival(arrivalMs[next] ?? Number.NaN);
    }
    history.advance(lookMs);
    perBeat.set(history.perBeat, look * HISTORY_BEATS);
  }
  return { lookCount: looksMs.length, perBeat };
}
