/**
 * The Twitter trace as the forecasters see it: counts of requests per second, the seconds at which
 * a forecast is asked for, what it may look at, and what came.
 */
import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import {
  HISTORY_BEATS,
  HORIZON_BEATS,
  WINDOW_BEATS,
  WINDOW_COUNT,
} from "stratagem-runtime/internal/core/forecasters";

/** In the folder of reference data. 14 days. */
export const TRACE_FILE = "traces/twitter-2021-08-counts-per-second.txt.gz";
const DAY_SECONDS = 86_400;

/** Days from 1 on, first and last. */
export type Days = readonly [first: number, last: number];

/**
 * The last training day chooses among the epochs; nothing is chosen on the validation days.
 */
export const DAYS: Readonly<Record<"fit" | "selection" | "training" | "validation", Days>> = {
  fit: [1, 11],
  selection: [12, 12],
  training: [1, 12],
  validation: [13, 14],
};

/**
 * As many seconds without a request are a hole of the recording: at 15 a second and more, none is
 * likely to be real.
 */
const HOLE_SECONDS = 10;

/** Requests of each second. @param file gzip, one count per line. */
export function readCounts(file: string): Float64Array {
  const text = gunzipSync(readFileSync(file)).toString("latin1").trim();
  return Float64Array.from(text.split("\n"), Number);
}

/**
 * Seconds at which a forecast is asked for: every `strideSeconds`-th of some days whose 60 s before
 * and 10 s after lie in those days and touch no hole.
 */
export function ticksOf(
  counts: Float64Array,
  [firstDay, lastDay]: Days,
  strideSeconds: number,
): number[] {
  const holes = holesBefore(counts);
  const first = (firstDay - 1) * DAY_SECONDS + HISTORY_BEATS;
  const last = Math.min(lastDay * DAY_SECONDS, counts.length) - HORIZON_BEATS;
  const ticks: number[] = [];
  for (let tick = first; tick <= last; tick += strideSeconds) {
    if (holes[tick + HORIZON_BEATS] === holes[tick - HISTORY_BEATS]) ticks.push(tick);
  }
  return ticks;
}

/** What forecasts at some seconds may look at, [ticks, HISTORY_BEATS]. */
export function historiesAt(counts: Float64Array, ticks: readonly number[]): Float64Array {
  const histories = new Float64Array(ticks.length * HISTORY_BEATS);
  for (const [row, tick] of ticks.entries()) {
    histories.set(counts.subarray(tick - HISTORY_BEATS, tick), row * HISTORY_BEATS);
  }
  return histories;
}

/** What they should have said: the highest second of the next ten, [ticks]. */
export function peaksAfter(counts: Float64Array, ticks: readonly number[]): Float64Array {
  return Float64Array.from(ticks, (tick) =>
    Math.max(...counts.subarray(tick, tick + HORIZON_BEATS)),
  );
}

/** The highest second of each window, [rows, WINDOW_COUNT] of [rows, HISTORY_BEATS]. */
export function maximaOf(histories: Float64Array): Float64Array {
  const maxima = new Float64Array(histories.length / WINDOW_BEATS);
  for (let window = 0; window < maxima.length; window++) {
    const start = window * WINDOW_BEATS;
    maxima[window] = Math.max(...histories.subarray(start, start + WINDOW_BEATS));
  }
  return maxima;
}

/** Of each window of each row the last maximum, [rows]. @param maxima [rows, WINDOW_COUNT] */
export function lastMaximaOf(maxima: Float64Array): Float64Array {
  return Float64Array.from({ length: maxima.length / WINDOW_COUNT }, (_, row) => {
    return maxima[(row + 1) * WINDOW_COUNT - 1] ?? 0;
  });
}

/** How many seconds before each, [counts + 1], belong to a hole. */
function holesBefore(counts: Float64Array): Uint32Array {
  const before = new Uint32Array(counts.length + 1);
  let start = 0;
  while (start < counts.length) {
    let end = start + 1;
    while (counts[start] === 0 && counts[end] === 0) end++;
    const isHole = end - start >= HOLE_SECONDS;
    for (let second = start; second < end; second++) {
      before[second + 1] = (before[second] ?? 0) + (isHole ? 1 : 0);
    }
    start = end;
  }
  return before;
}
