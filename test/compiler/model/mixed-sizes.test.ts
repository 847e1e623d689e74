/** Times of batches whose rows have several sizes, against all divisions of a batch. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { mixedProfileFor } from "../../../compiler/model/mixed-sizes.ts";
import type { Pool, Variant } from "../../../compiler/spec/application.ts";

const POOL = { name: "p", hardware: null, workers: 1 } as unknown as Pool;
const quantilesOf = (ms: number) => ({ p50: ms / 2, p95: ms, p99: 2 * ms, mean: ms / 3 });

/** A variant that was measured with batches 1, 2, …, and so many sizes. */
function variantOf(ms: readonly number[], sizes: number, isListed = true): Variant {
  const rows = ms.map((latencyMs, index) => {
    return { batch: index + 1, latencyMs, quantiles: quantilesOf(latencyMs) };
  });
  const buckets = Array.from({ length: sizes }, (_, size) => ({ name: `${size}`, rows }));
  const byCores = [{ cores: 1, rows }];
  const fit = { gamma: 1, epsilon: 2, delta: 3, eta: 4 };
  const profile = { hardware: "h", rows, buckets, byCores, fit };
  const axes = { x: isListed ? [1, 2] : 2 };
  return { profile, profiles: [profile], model: "m", binding: { axes } } as unknown as Variant;
}

/** Longest sum over all ways to split the batch. */
function slowestOf(ms: readonly number[], batch: number, runs: number): number {
  if (batch === 0) return 0;
  if (runs === 0) return Number.NEGATIVE_INFINITY;
  const firsts = Array.from({ length: batch }, (_, index) => index + 1);
  return Math.max(
    ...firsts.map((first) => (ms[first - 1] ?? 0) + slowestOf(ms, batch - first, runs - 1)),
  );
}

test("a batch takes as long as its slowest division into a run for each size", () => {
  const step = fc.double({ min: 0.1, max: 10, noNaN: true });
  const steps = fc.array(step, { minLength: 1, maxLength: 6 });
  fc.assert(
    fc.property(steps, fc.integer({ min: 2, max: 4 }), (added, sizes) => {
      const ms = added.map((_, index) => added.slice(0, index + 1).reduce((a, b) => a + b, 0));
      const profile = mixedProfileFor(variantOf(ms, sizes), POOL);
      for (const rows of [profile?.rows, profile?.byCores?.[0]?.rows]) {
        expect(rows?.map(({ batch }) => batch)).toEqual(ms.map((_, index) => index + 1));
        for (const { batch, latencyMs, quantiles } of rows ?? []) {
          const slowest = slowestOf(ms, batch, sizes);
          expect(latencyMs).toBeCloseTo(slowest, 9);
          expect(quantiles?.p99).toBeCloseTo(2 * slowest, 9);
          expect(quantiles?.mean).toBeCloseTo(slowest / 3, 9);
        }
      }
      expect(profile?.fit).toEqual({ gamma: 1, epsilon: 2 * sizes, delta: 3, eta: 4 * sizes });
    }),
  );
});

test("variants with one size keep their times", () => {
  const [one, plain] = [variantOf([1, 2], 1), variantOf([1, 2], 3, false)];
  expect(mixedProfileFor(one, POOL)).toBe(one.profile);
  expect(mixedProfileFor(plain, POOL)).toBe(plain.profile);
});
