import fc from "fast-check";
import { expect, test } from "vitest";
import {
  ENOUGH_BATCHES,
  type PercentileInterval,
  percentileIntervals,
  quantileRanks,
} from "../../../compiler/numeric/quantile-interval.ts";
import { Rng } from "../../../runtime/core/rng.ts";

test("has the ranks and confidences that binomial tables give", () => {
  expect(quantileRanks(100, 0.95, 0.9)).toMatchObject({ low: 91, high: 99 });
  expect(quantileRanks(10, 0.5, 0.95)).toMatchObject({ low: 2, high: 9 });
  expect(quantileRanks(10, 0.5, 0.95).confidence).toBeCloseTo(1 - 22 / 1024, 12);
});

test("takes the largest of too few draws, and says what that is worth", () => {
  const { high, confidence } = quantileRanks(30, 0.95, 0.9);
  expect(high).toBe(30);
  expect(confidence).toBeLessThan(0.9);
  expect(confidence).toBeGreaterThan(0.7);
  expect(quantileRanks(1, 0.95, 0.9)).toEqual({ low: 1, high: 1, confidence: 0 });
  expect(quantileRanks(40, 0.95, 0.9).confidence).toBeLessThan(0.9);
});

test("never claims less than was asked for from 59 draws on, and has its ranks in order", () => {
  fc.assert(
    fc.property(fc.integer({ min: 59, max: 3000 }), (count) => {
      const { low, high, confidence } = quantileRanks(count, 0.95, 0.9);
      expect(1 <= low && low < high && high <= count).toBe(true);
      expect(confidence).toBeGreaterThanOrEqual(0.9);
    }),
    { numRuns: 50 },
  );
});

test("holds the quantile as often as it says, of any distribution", () => {
  const rng = new Rng(7, 0);
  const { low, high, confidence } = quantileRanks(80, 0.95, 0.9);
  let held = 0;
  for (let trial = 0; trial < 4000; trial++) {
    // Of a squared uniform number the 95th percentile is 0.95².
    const draws = Array.from({ length: 80 }, () => rng.nextFloat() ** 2).sort((a, b) => a - b);
    if ((draws[low - 1] ?? 1) <= 0.95 ** 2 && (draws[high - 1] ?? 0) >= 0.95 ** 2) held++;
  }
  expect(Math.abs(held / 4000 - confidence)).toBeLessThan(0.02);
});

/** Mean latency of the queue below. */
const MEAN_MS = 5;

/**
 * Latencies of consecutive requests to a queue with one server, random arrivals and exponential
 * service times at 80 % load: exponential with a mean of 5 ms. Requests of a batch have the same.
 */
function queueRuns(runCount: number, length: number, perBatch: number): Float64Array[] {
  const rng = new Rng(3, 1);
  const drawn = (meanMs: number) => -meanMs * Math.log(1 - rng.nextFloat());
  let waitMs = 0;
  const next = (): number => {
    const latencyMs = waitMs + drawn(1);
    waitMs = Math.max(0, latencyMs - drawn(1.25));
    return latencyMs;
  };
  for (let request = 0; request < 1000; request++) next();
  return Array.from({ length: runCount }, () => {
    const batches = Array.from({ length: length / perBatch }, next);
    return Float64Array.from({ length }, (_, at) => batches[Math.floor(at / perBatch)] ?? 0);
  });
}

function holds([lower, upper]: PercentileInterval, value: number): boolean {
  return lower <= value && value <= (upper ?? Number.POSITIVE_INFINITY);
}

/** Share of runs whose intervals hold the true percentiles. */
function coverage(runs: readonly Float64Array[], perBatch: number) {
  const found = runs.map((run) => percentileIntervals(run, perBatch));
  const shareOf = (name: "p50" | "p95" | "p99", quantile: number) => {
    const value = -MEAN_MS * Math.log(1 - quantile);
    const held = found.filter((one) => one !== null && holds(one[name], value));
    return held.length / runs.length;
  };
  return { p50: shareOf("p50", 0.5), p95: shareOf("p95", 0.95), p99: shareOf("p99", 0.99) };
}

test.each([
  [240, 1],
  [900, 1],
  [900, 3],
  [4000, 5],
])(
  "intervals of %i latencies in a queue, %i to a batch, hold the percentiles",
  (count, perBatch) => {
    const { p50, p95, p99 } = coverage(queueRuns(400, count, perBatch), perBatch);
    expect(Math.min(p50, p95, p99)).toBeGreaterThan(0.93);
  },
);

test("latencies of a queue are worth fewer draws than there are of them", () => {
  const runs = queueRuns(400, 900, 1);
  const asDraws = runs.map((run) => {
    const { low, high } = quantileRanks(run.length, 0.5, 0.99);
    const ascending = run.toSorted();
    return [ascending[low - 1] ?? 0, ascending[high - 1] ?? 0] as const;
  });
  const held = asDraws.filter((one) => holds(one, MEAN_MS * Math.LN2)).length / runs.length;
  expect(held).toBeLessThan(0.6);
  expect(coverage(runs, 1).p50).toBeGreaterThan(0.93);
});

test("without enough numbers a percentile has no upper bound", () => {
  const rng = new Rng(5, 0);
  const few = percentileIntervals(
    Float64Array.from({ length: 100 }, () => rng.nextFloat()),
    1,
  );
  expect(few?.p99[1]).toBeNull();
  expect(few?.p50[1]).not.toBeNull();
  expect(percentileIntervals(Float64Array.of(4), 1)?.p50).toEqual([0, null]);
});

test("many batches need no interval, and many requests of few batches do", () => {
  const latencies = new Float64Array(2 * ENOUGH_BATCHES).fill(1);
  expect(percentileIntervals(latencies, 2)).toBeNull();
  expect(percentileIntervals(latencies, 2.01)).not.toBeNull();
  expect(percentileIntervals(new Float64Array(), 1)).toBeNull();
});
