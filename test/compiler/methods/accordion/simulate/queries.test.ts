import { describe, expect, test } from "vitest";
import { drawQueries } from "../../../../../compiler/methods/accordion/simulate/queries.ts";
import type { AccordionOptions } from "../../../../../runtime/bundle/schema.ts";
import { table1Bundle } from "../../../../support/accordion-bundle.ts";

const POISSON = { kind: "poisson", qps: 1000 } as const;
const COUNT_MS = 20_000;

function drawn(policy: Partial<AccordionOptions>, seed = 1) {
  const bundle = table1Bundle({ maxBatch: 1000, sloMs: 500, policy });
  return drawQueries(bundle, POISSON, COUNT_MS, seed);
}

function meanOf(values: Iterable<number>): number {
  const all = [...values];
  return all.reduce((sum, value) => sum + value, 0) / all.length;
}

describe("drawn queries", () => {
  const queries = drawn({ meanBatch: 40, batchSigma: 0.5, lowShare: 0.2 });
  const count = queries.arrivalMs.length;

  test("are due one SLO after they come", () => {
    expect(queries.deadlineMs).toEqual(queries.arrivalMs.map((ms) => ms + 500));
  });

  test("name every model as often", () => {
    for (const model of [0, 1, 2]) {
      const share = queries.model.filter((one) => one === model).length / count;
      // Four standard deviations of 20 000 draws.
      expect(Math.abs(share - 1 / 3)).toBeLessThan(4 * Math.sqrt(2 / 9 / count));
    }
  });

  test("are of low priority as often as the policy says", () => {
    const share = queries.isHigh.filter((one) => one === 0).length / count;
    expect(Math.abs(share - 0.2)).toBeLessThan(4 * Math.sqrt(0.16 / count));
  });

  test("have log-normal instances of the mean and the sigma of the policy", () => {
    // A log-normal of sigma s has the coefficient of variation sqrt(exp(s^2) - 1), 0.533.
    const cv = Math.sqrt(Math.exp(0.25) - 1);
    expect(Math.abs(meanOf(queries.batch) / 40 - 1)).toBeLessThan((4 * cv) / Math.sqrt(count));
    const logs = [...queries.batch].map(Math.log);
    const mean = meanOf(logs);
    const sigma = Math.sqrt(meanOf(logs.map((log) => (log - mean) ** 2)));
    // Rounding to whole instances adds little at 40, and 4 / sqrt(2 count) is what chance adds.
    expect(Math.abs(sigma - 0.5)).toBeLessThan(0.02);
  });
});

test("instances are at least one, and at most what the policy allows", () => {
  expect(Math.min(...drawn({ meanBatch: 1, batchSigma: 1 }).batch)).toBe(1);
  expect(Math.max(...drawn({ meanBatch: 900, batchSigma: 1 }).batch)).toBe(1000);
});

test("without sigma all have the mean", () => {
  expect(new Set(drawn({ meanBatch: 12, batchSigma: 0 }).batch)).toEqual(new Set([12]));
});

test("other batches leave arrivals, models and priorities as they are", () => {
  const small = drawn({ meanBatch: 1 });
  const large = drawn({ meanBatch: 100 });
  expect(large.arrivalMs).toEqual(small.arrivalMs);
  expect(large.model).toEqual(small.model);
  expect(large.isHigh).toEqual(small.isHigh);
  expect(large.batch).not.toEqual(small.batch);
});

test("another seed draws other queries", () => {
  expect(drawn({}, 2).model.slice(0, 100)).not.toEqual(drawn({}, 1).model.slice(0, 100));
});
