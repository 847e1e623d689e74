/** Arrivals before a run that its server still follows. */
import { expect, test } from "vitest";
import { SentHistory } from "../../../compiler/truth/sent-history.ts";

const START_MS = 1_700_000_000_000;

function traceOf(history: SentHistory, startMs: number, atMs: readonly number[]) {
  const { arrivals, countedFromMs } = history.before(startMs, Float64Array.from(atMs));
  if (arrivals.kind !== "trace" || arrivals.trace.kind !== "arrivals") throw new Error("a trace");
  return { arrivalMs: [...arrivals.trace.arrivalMs], startQps: arrivals.startQps, countedFromMs };
}

test("a server that was just started knows no load", () => {
  const history = new SentHistory(100, 12);
  expect(traceOf(history, START_MS, [5, 2])).toEqual({
    arrivalMs: [2, 5],
    startQps: Number.NaN,
    countedFromMs: 0,
  });
  history.add(START_MS, Float64Array.of(30, 10));
  // Begins with the first request ever sent.
  expect(traceOf(history, START_MS + 100, [1])).toEqual({
    arrivalMs: [0, 20, 91],
    startQps: Number.NaN,
    countedFromMs: 90,
  });
});

test("arrivals of the last beats come first, and the load before them is known", () => {
  const history = new SentHistory(100, 12);
  const every10Ms = Float64Array.from({ length: 200 }, (_, at) => 10 * at);
  history.add(START_MS, every10Ms);
  const { arrivalMs, startQps, countedFromMs } = traceOf(history, START_MS + 2000, [0, 7]);
  expect([arrivalMs[0], arrivalMs[119], ...arrivalMs.slice(120)]).toEqual([0, 1190, 1200, 1207]);
  expect([startQps, countedFromMs]).toEqual([100, 1200]);
});

test("a pause is a load of 0", () => {
  const history = new SentHistory(100, 12);
  history.add(START_MS, Float64Array.of(0, 10));
  expect(traceOf(history, START_MS + 5000, [3])).toEqual({
    arrivalMs: [1203],
    startQps: 0,
    countedFromMs: 1200,
  });
});
