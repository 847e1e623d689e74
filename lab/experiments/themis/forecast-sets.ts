/**
 * What forecasters are asked: histories, and the peaks that came, of recorded and drawn traffic.
 */
import {
  type Forecaster,
  HISTORY_BEATS,
  HORIZON_BEATS,
  WINDOW_BEATS,
  WINDOW_COUNT,
} from "stratagem-runtime/internal/core/forecasters";
import { historiesAt, lastMaximaOf, maximaOf, peaksAfter } from "../../models/forecast/trace.ts";
import { type RandomSource, randomSource } from "../../models/letters.ts";

export interface ForecastSet {
  /** [rows, HISTORY_BEATS] */
  readonly histories: Float64Array;
  /** Highest second of the next ten, [rows]. */
  readonly peaks: Float64Array;
  /** Highest second of the last window, [rows]. */
  readonly last: Float64Array;
}

/** How often requests are drawn at a series of rates. */
export const DRAWS = 10;
const POISSON_COUNT = 4000;

/** At some seconds of a series of counts. */
export function setAt(counts: Float64Array, ticks: readonly number[]): ForecastSet {
  return setOf(historiesAt(counts, ticks), peaksAfter(counts, ticks));
}

/** Of a series of maxima: every second of a window is its maximum. */
export function maximaSet(series: Float64Array): ForecastSet {
  const rows = series.length - WINDOW_COUNT;
  const histories = Float64Array.from({ length: rows * HISTORY_BEATS }, (_, at) => {
    const second = at % HISTORY_BEATS;
    const row = (at - second) / HISTORY_BEATS;
    return series[row + Math.floor(second / WINDOW_BEATS)] ?? Number.NaN;
  });
  return setOf(histories, series.slice(WINDOW_COUNT));
}

/** Arrivals at a constant rate. */
export function poissonSet(qps: number): ForecastSet {
  const random = randomSource(7, qps);
  const stride = HISTORY_BEATS + HORIZON_BEATS;
  const counts = Float64Array.from({ length: POISSON_COUNT * stride }, () => drawn(random, qps));
  const ticks = Array.from({ length: POISSON_COUNT }, (_, row) => row * stride + HISTORY_BEATS);
  return withPeaks(setAt(counts, ticks));
}

/** What is seen of requests that come at some rates. */
export function drawnSet(
  rates: Float64Array,
  divider: number,
  ticks: readonly number[],
): ForecastSet {
  const random = randomSource(11, 0);
  const counts = Float64Array.from({ length: DRAWS * rates.length }, (_, at) =>
    drawn(random, (rates[at % rates.length] ?? 0) / divider),
  );
  const drawnTicks = Array.from({ length: DRAWS }, (_, draw) =>
    ticks.map((tick) => draw * rates.length + tick),
  ).flat();
  return withPeaks(setAt(counts, drawnTicks));
}

/** How many arrivals there are in a second. */
function drawn(random: RandomSource, qps: number): number {
  let count = -1;
  for (let seconds = 0; seconds < 1; count++) seconds -= Math.log(1 - random()) / qps;
  return count;
}

/** Those rows after which anything comes: an error is a share of what came. */
function withPeaks({ histories, peaks }: ForecastSet): ForecastSet {
  const rows = Array.from(peaks.keys()).filter((row) => (peaks[row] ?? 0) > 0);
  const kept = rows.flatMap((row) => [...historyOf(histories, row)]);
  const own = Float64Array.from(rows, (row) => peaks[row] ?? 0);
  return setOf(Float64Array.from(kept), own);
}

function setOf(histories: Float64Array, peaks: Float64Array): ForecastSet {
  return { histories, peaks, last: lastMaximaOf(maximaOf(histories)) };
}

/** One row. */
export function historyOf(histories: Float64Array, row: number): Float64Array {
  return histories.subarray(row * HISTORY_BEATS, (row + 1) * HISTORY_BEATS);
}

export function answersOf(forecaster: Forecaster, { histories, peaks }: ForecastSet): Float64Array {
  return peaks.map((_, row) => forecaster.forecast(historyOf(histories, row)));
}
