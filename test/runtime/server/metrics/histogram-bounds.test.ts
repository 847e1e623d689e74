/** Bounds of time histograms: what can be read from them, and added. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { Histogram, type Sample } from "../../../../runtime/base/exposition.ts";
import { quantileAt, quantileKnots } from "../../../../runtime/core/quantile-distribution.ts";
import { timeBoundsSeconds } from "../../../../runtime/server/metrics/histogram-bounds.ts";
import { expectTimes } from "../../../../runtime/server/metrics/promise-lines.ts";
import { quantileOf } from "../../../support/bucket-quantile.ts";

const sloMs = fc.double({ min: 1, max: 60_000, noNaN: true });

test("the SLO and those of classes are bounds; bounds are 40 at most and ascend by 28 %", () => {
  fc.assert(
    fc.property(sloMs, (slo) => {
      const bounds = timeBoundsSeconds(slo);
      expect(bounds.length).toBeLessThanOrEqual(40);
      expect(bounds).toContain(Math.round(slo * 1000) / 1e6);
      for (const [index, bound] of bounds.entries()) {
        const before = bounds[index - 1] ?? bound / 1.26;
        expect(bound / before).toBeGreaterThan(1.23);
        expect(bound / before).toBeLessThan(1.28);
      }
    }),
  );
  expect(timeBoundsSeconds(100, [30])).toContain(0.03);
  expect(timeBoundsSeconds(100, [100])).toEqual(timeBoundsSeconds(100));
});

test("the share above the SLO is exact", () => {
  const histogram = new Histogram(timeBoundsSeconds(33.3));
  for (const ms of [1, 33.2, 33.3, 33.31, 50]) histogram.observe(ms / 1000);
  const at = histogram.lines("x", {}).find(({ labels }) => labels["le"] === "0.0333");
  expect(at?.value).toBe(3);
});

test("values are counted in the first bucket whose bound is not below them", () => {
  const bounds = fc.uniqueArray(fc.integer({ min: -20, max: 20 }), { maxLength: 12 });
  const values = fc.array(fc.integer({ min: -25, max: 25 }));
  fc.assert(
    fc.property(bounds, values, (given, seen) => {
      const ascending = given.sort((one, other) => one - other);
      const histogram = new Histogram(ascending);
      for (const value of seen) histogram.observe(value);
      const counts = histogram.lines("x", {}).map(({ value }) => value);
      const naive = ascending.map((bound) => seen.filter((value) => value <= bound).length);
      const sum = seen.reduce((total, value) => total + value, 0);
      expect(counts).toEqual([...naive, seen.length, sum, seen.length]);
    }),
  );
});

test("percentiles of a distribution, read as Prometheus does, are within a bucket", () => {
  const share = fc.double({ min: 0.001, max: 0.5, noNaN: true });
  const rise = fc.double({ min: 1, max: 2, noNaN: true });
  fc.assert(
    fc.property(sloMs, share, rise, rise, (slo, at, second, third) => {
      const p50 = slo * Math.max(at, 0.01);
      const [p95, p99] = [p50 * second, p50 * second * third];
      const knots = quantileKnots(p50, p95, p99, p50);
      const histogram = new Histogram(timeBoundsSeconds(slo));
      expectTimes(histogram, 1000, knots);
      const lines = histogram.lines("x", {});
      for (const wanted of [0.5, 0.95, 0.99]) {
        const ratio = quantileOf(lines, wanted) / (quantileAt(knots, 0, wanted) / 1000);
        expect(ratio).toBeGreaterThan(1 / 1.29);
        expect(ratio).toBeLessThan(1.29);
      }
    }),
  );
});

test("expected counts are those of the distribution, and of servers they add up", () => {
  const knots = quantileKnots(10, 20, 40, 12);
  const counted = (...counts: readonly number[]): readonly Sample[] => {
    const histogram = new Histogram(timeBoundsSeconds(100));
    for (const count of counts) expectTimes(histogram, count, knots);
    return histogram.lines("x", {});
  };
  const all = counted(700, 300);
  const parts = [counted(700), counted(300)];
  for (const [index, { value }] of all.entries()) {
    const sum = parts.reduce((total, lines) => total + (lines[index]?.value ?? Number.NaN), 0);
    expect(sum).toBeCloseTo(value, 2);
  }
  expect(all.at(-1)?.value).toBe(1000);
  expect(quantileOf(all, 0.99)).toBeCloseTo(0.04, 3);
  const doubled = new Histogram(timeBoundsSeconds(100));
  expectTimes(doubled, 10, knots, 2);
  expect(doubled.lines("x", {}).at(-2)?.value).toBeCloseTo(10 * 0.024, 6);
});
