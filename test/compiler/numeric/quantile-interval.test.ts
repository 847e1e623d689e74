import fc from "fast-check";
import { expect, test } from "vitest";
import { quantileRanks } from "../../../compiler/numeric/quantile-interval.ts";
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
