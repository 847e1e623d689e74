import fc from "fast-check";
import { expect, test } from "vitest";
import { binomialProbability, orderStatisticBelow } from "../../../compiler/numeric/binomial.ts";
import {
  negativeBinomialPhaseWeights,
  negativeBinomialWindow,
} from "../../../compiler/numeric/negative-binomial.ts";
import { cumulativeBelow, poissonWindow } from "../../../compiler/numeric/poisson.ts";
import {
  meanBetweenQuantiles,
  probabilityAtMost,
  quantileKnots,
} from "../../../runtime/core/quantile-distribution.ts";

const sum = (values: Iterable<number>): number => [...values].reduce((a, b) => a + b, 0);

/** Γ(k + r) / (Γ(r) k!) · p^r (1 − p)^k as a product of k factors. */
function negativeBinomial(k: number, mean: number, dispersion: number): number {
  const size = mean / (dispersion - 1);
  let p = dispersion ** -size;
  for (let i = 0; i < k; i++) p *= ((size + i) / (i + 1)) * (1 - 1 / dispersion);
  return p;
}

function choose(n: number, k: number): number {
  let ways = 1;
  for (let i = 1; i <= k; i++) ways *= (n - k + i) / i;
  return ways;
}

const means = fc.double({ min: 0.01, max: 80, noNaN: true });
const dispersions = fc.double({ min: 1.05, max: 12, noNaN: true });

test("a negative binomial window holds its probabilities, its mean and its dispersion", () => {
  fc.assert(
    fc.property(means, dispersions, (mean, dispersion) => {
      const { first, pmf } = negativeBinomialWindow(mean, dispersion, 1e-18);
      expect(Math.abs(sum(pmf) - 1)).toBeLessThan(1e-12);
      const found = sum(pmf.map((p, i) => p * (first + i)));
      expect(Math.abs(found / mean - 1)).toBeLessThan(1e-9);
      const variance = sum(pmf.map((p, i) => p * (first + i - mean) ** 2));
      expect(Math.abs(variance / mean / dispersion - 1)).toBeLessThan(1e-9);
      for (let i = 0; i < pmf.length; i += 7) {
        const expected = negativeBinomial(first + i, mean, dispersion);
        expect(Math.abs((pmf[i] ?? 0) - expected)).toBeLessThan(1e-12);
      }
    }),
    { seed: 21 },
  );
});

test("negative binomial counts over adjoining intervals add up to one over both", () => {
  fc.assert(
    fc.property(means, means, dispersions, (one, other, dispersion) => {
      const [a, b] = [one, other].map((mean) => negativeBinomialWindow(mean, dispersion, 1e-18));
      const both = negativeBinomialWindow(one + other, dispersion, 1e-18);
      for (let k = both.first; k < both.first + both.pmf.length; k += 5) {
        let expected = 0;
        a?.pmf.forEach((p, i) => {
          expected += p * (b?.pmf[k - a.first - i - (b?.first ?? 0)] ?? 0);
        });
        expect(Math.abs((both.pmf[k - both.first] ?? 0) - expected)).toBeLessThan(1e-12);
      }
    }),
    { seed: 22, numRuns: 40 },
  );
});

test("a dispersion that falls to 1 leaves Poisson counts, and no time leaves no arrivals", () => {
  const near = negativeBinomialWindow(7, 1 + 1e-9, 1e-18);
  const poisson = poissonWindow(7, 1e-18);
  for (let k = 0; k < 30; k++) {
    const p = near.pmf[k - near.first] ?? 0;
    expect(Math.abs(p - (poisson.pmf[k - poisson.first] ?? 0))).toBeLessThan(1e-8);
  }
  expect(negativeBinomialWindow(0, 3, 1e-18)).toEqual({ first: 0, pmf: Float64Array.of(1) });
});

test("negative binomial phase weights are the normalised probabilities of their counts", () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 40 }), means, dispersions, (base, mean, dispersion) => {
      const weight = new Float64Array(9);
      negativeBinomialPhaseWeights(base, mean, dispersion, weight);
      const raw = [...weight.keys()].map((q) => negativeBinomial(base + q, mean, dispersion));
      weight.forEach((w, q) => {
        expect(Math.abs(w - (raw[q] ?? 0) / sum(raw))).toBeLessThan(1e-10);
      });
    }),
    { seed: 23 },
  );
  const none = new Float64Array(3);
  negativeBinomialPhaseWeights(0, 0, 4, none);
  expect([...none]).toEqual([1, 0, 0]);
});

test("binomial probabilities are the terms of the binomial theorem", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 50 }),
      fc.integer({ min: 0, max: 50 }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      (a, b, chance) => {
        const [count, trials] = [Math.min(a, b), Math.max(a, b)];
        const expected = choose(trials, count) * chance ** count * (1 - chance) ** (trials - count);
        const found = binomialProbability(count, trials, chance);
        expect(Math.abs(found - expected)).toBeLessThan(1e-13);
      },
    ),
    { seed: 24 },
  );
});

test("an order statistic is below x when enough points are, for each number of points", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 60 }),
      fc.integer({ min: 0, max: 60 }),
      fc.double({ min: 1e-6, max: 1 - 1e-6, noNaN: true }),
      (rank, more, x) => {
        const below = new Float64Array(6);
        orderStatisticBelow(rank, rank + more, x, below);
        below.forEach((found, i) => {
          const points = rank + more + i;
          let expected = 0;
          for (let k = rank; k <= points; k++) expected += binomialProbability(k, points, x);
          expect(Math.abs(found - expected)).toBeLessThan(1e-12);
        });
      },
    ),
    { seed: 25 },
  );
});

const quantiles = fc
  .tuple(
    fc.double({ min: 0.1, max: 100, noNaN: true }),
    fc.double({ min: 0, max: 50, noNaN: true }),
    fc.double({ min: 0, max: 50, noNaN: true }),
    fc.double({ min: 0, max: 1, noNaN: true }),
  )
  .map(([p50, toP95, toP99, part]) => {
    const [p95, p99] = [p50 + toP95, p50 + toP95 + toP99];
    // The means that a minimum in [0, p50] can make.
    const above = 0.225 * (p50 + p95) + 0.02 * (p95 + p99) + 0.005 * (2 * p99 + toP99 / 4);
    return { p50, p95, p99, mean: above + 0.25 * p50 * (1 + part) };
  });

test("a distribution has its quantiles and mean, and its parts keep the mean", () => {
  fc.assert(
    fc.property(quantiles, fc.double({ min: 0.01, max: 0.99, noNaN: true }), (q, cut) => {
      const knots = quantileKnots(q.p50, q.p95, q.p99, q.mean);
      expect(meanBetweenQuantiles(knots, 0, 0, 1)).toBeCloseTo(q.mean, 9);
      const parts =
        cut * meanBetweenQuantiles(knots, 0, 0, cut) +
        (1 - cut) * meanBetweenQuantiles(knots, 0, cut, 1);
      expect(parts).toBeCloseTo(q.mean, 9);
      expect(probabilityAtMost(knots, 0, q.p50)).toBeGreaterThanOrEqual(0.5);
      expect(probabilityAtMost(knots, 0, q.p99)).toBeGreaterThanOrEqual(0.99);
      const max = knots[4] ?? 0;
      expect(probabilityAtMost(knots, 0, max)).toBe(1);
      expect(probabilityAtMost(knots, 0, (knots[0] ?? 0) - 1e-9)).toBe(0);
    }),
    { seed: 26 },
  );
});

test("the probability of at most x grows from knot to knot along straight lines", () => {
  const knots = quantileKnots(10, 20, 30, 11.5875);
  expect([...knots]).toEqual([4.1, 10, 20, 30, 32.5].map((v) => expect.closeTo(v, 9)));
  expect(probabilityAtMost(knots, 0, 15)).toBeCloseTo(0.725, 12);
  expect(probabilityAtMost(knots, 0, 25)).toBeCloseTo(0.97, 12);
  expect(probabilityAtMost(knots, 0, 31.25)).toBeCloseTo(0.995, 12);
  expect(meanBetweenQuantiles(knots, 0, 0.95, 0.99)).toBeCloseTo(25, 12);
});

test("quantiles that descend are raised, and a time that never varies is in time or not", () => {
  const knots = quantileKnots(10, 9, 8, 10);
  expect([...knots]).toEqual([10, 10, 10, 10, 10]);
  expect(probabilityAtMost(knots, 0, 10)).toBe(1);
  expect(probabilityAtMost(knots, 0, 9.999)).toBe(0);
});

test("running sums of a window start at 0 and end at its mass", () => {
  const window = negativeBinomialWindow(5, 2, 1e-18);
  const below = cumulativeBelow(window);
  expect(below[0]).toBe(0);
  expect(below[window.pmf.length]).toBeCloseTo(1, 12);
});
