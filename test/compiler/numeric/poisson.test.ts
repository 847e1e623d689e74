import fc from "fast-check";
import { all, type BigNumber, create, type FactoryFunctionMap } from "mathjs";
import { expect, test } from "vitest";
import {
  cumulativeBelow,
  poissonProbability,
  poissonWindow,
  probabilityBetween,
} from "../../../compiler/numeric/poisson.ts";

const big = create(all as FactoryFunctionMap, { number: "BigNumber", precision: 64 });

/**
 * mean^count · e^−mean / count! in 64 digits, with ln count! by Stirling's series where the product
 * would be long.
 */
function exactPoisson(count: number, mean: number): number {
  const m = big.bignumber(mean);
  const logP = big.log(m).times(count).minus(m).minus(exactLogFactorial(count)) as BigNumber;
  return big.exp(logP).toNumber();
}

function exactLogFactorial(count: number): BigNumber {
  if (count < 200) {
    let product = big.bignumber(1);
    for (let i = 2; i <= count; i++) product = product.times(i);
    return big.log(product);
  }
  const n = big.bignumber(count);
  const twoPi = big.bignumber(big.pi.toString()).times(2);
  const series = [1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188];
  let sum = n
    .times(big.log(n))
    .minus(n)
    .plus(big.log(twoPi.times(n)).times(0.5));
  series.forEach((coefficient, index) => {
    sum = sum.plus(
      big
        .bignumber(1)
        .times(coefficient)
        .div(n.pow(2 * index + 1)),
    );
  });
  return sum;
}

test.each([0.001, 0.5, 3, 59.9, 300, 4321.5, 99_999, 100_000])(
  "probabilities at mean %d agree with 64-digit arithmetic to 12 digits",
  (mean) => {
    const spread = Math.sqrt(mean) + 1;
    for (const z of [-6, -3, -1, -0.2, 0, 0.2, 1, 3, 6]) {
      const count = Math.max(0, Math.round(mean + z * spread));
      const expected = exactPoisson(count, mean);
      expect(Math.abs(poissonProbability(count, mean) / expected - 1)).toBeLessThan(1e-12);
    }
  },
);

test.each([0, 1e-9, 0.7, 12, 300, 5000, 100_000])(
  "a window at mean %d holds all the mass, each entry its probability",
  (mean) => {
    const { first, pmf } = poissonWindow(mean, 1e-18);
    expect(Math.abs(pmf.reduce((a, b) => a + b, 0) - 1)).toBeLessThan(1e-12);
    for (let i = 0; i < pmf.length; i += Math.max(1, Math.floor(pmf.length / 50))) {
      const expected = poissonProbability(first + i, mean);
      expect(Math.abs((pmf[i] ?? 0) - expected)).toBeLessThan(1e-12 * Math.max(expected, 1e-3));
    }
  },
);

test("the probability of a range is the sum of its members, in and outside the window", () => {
  fc.assert(
    fc.property(
      fc.double({ min: 0, max: 400, noNaN: true }),
      fc.integer({ min: -5, max: 500 }),
      fc.integer({ min: -5, max: 500 }),
      (mean, low, high) => {
        const window = poissonWindow(mean, 1e-18);
        let expected = 0;
        for (let k = Math.max(0, low); k <= high; k++) expected += poissonProbability(k, mean);
        const actual = probabilityBetween(window.first, cumulativeBelow(window), low, high);
        expect(Math.abs(actual - expected)).toBeLessThan(1e-12);
      },
    ),
    { seed: 7 },
  );
});

test.each([-1, Number.NaN, Number.POSITIVE_INFINITY])("refuses a mean of %d", (mean) => {
  expect(() => poissonProbability(3, mean)).toThrow(RangeError);
});

test("a count below zero or between integers has probability 0", () => {
  expect(poissonProbability(-1, 4)).toBe(0);
  expect(poissonProbability(1.5, 4)).toBe(0);
});
