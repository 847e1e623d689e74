import { describe, expect, it } from "vitest";
import { serviceTimeModel } from "../../../compiler/simulate/service-times.ts";
import type { ServiceTimes } from "../../../runtime/bundle/schema.ts";
import { Rng } from "../../../runtime/core/rng.ts";
import { SMALL, tinyBundle } from "../../support/tiny-bundle.ts";

type Ratios = { p50: number; p95: number; p99: number; mean: number };

function serviceTimes(quantileRatios?: Ratios): ServiceTimes {
  const bundle = tinyBundle(quantileRatios === undefined ? {} : { quantileRatios });
  const [task] = bundle.tasks;
  if (task === undefined) throw new Error("a tiny bundle has a task");
  return task.serviceTimes;
}

/** Draws for two queries on the small variant, 20 ms by the decision table, ascending. */
function sortedDraws(ratios: Ratios, count: number): number[] {
  const model = serviceTimeModel(serviceTimes(ratios), "sampled", new Rng(2, 0));
  return Array.from({ length: count }, () => model.nextMs(0, 2)).sort((a, b) => a - b);
}

describe("serviceTimeModel", () => {
  it("gives the time the policy was computed with", () => {
    const model = serviceTimeModel(serviceTimes(), "p95", new Rng(1, 0));
    expect(model.nextMs(0, 3)).toBe(SMALL.latencyMs(3));
    expect(model.nextMs(1, 4)).toBe(100);
  });

  it("samples with the measured quantiles, and the mean where it can", () => {
    const count = 100_000;
    const ratios = { p50: 0.8, p95: 1, p99: 1.4, mean: 0.8 };
    const draws = sortedDraws(ratios, count);
    for (const [probability, ratio] of [
      [0.5, 0.8],
      [0.95, 1],
      [0.99, 1.4],
    ] as const) {
      const below = draws.filter((ms) => ms <= 20 * ratio).length / count;
      const error = Math.sqrt((probability * (1 - probability)) / count);
      expect(Math.abs(below - probability)).toBeLessThan(5 * error);
    }
    const meanMs = draws.reduce((sum, ms) => sum + ms, 0) / count;
    const varianceMs2 = draws.reduce((sum, ms) => sum + (ms - meanMs) ** 2, 0) / count;
    expect(Math.abs(meanMs - 16)).toBeLessThan(5 * Math.sqrt(varianceMs2 / count));
    expect(draws[0]).toBeGreaterThan(0);
    expect(draws.at(-1)).toBeLessThanOrEqual(20 * (1.4 + 0.4 / 4));
  });

  it("keeps the minimum between 0 and the median when no such minimum gives the mean", () => {
    expect(sortedDraws({ p50: 0.8, p95: 1, p99: 1.4, mean: 0.1 }, 1000)[0]).toBeGreaterThanOrEqual(
      0,
    );
    expect(sortedDraws({ p50: 0.8, p95: 1, p99: 1.4, mean: 1.3 }, 1000)[0]).toBeCloseTo(16, 12);
  });

  it("refuses to sample what was not measured", () => {
    expect(() => serviceTimeModel(serviceTimes(), "sampled", new Rng(1, 0))).toThrow(
      expect.objectContaining({ code: "INPUT_CONFLICT" }),
    );
  });
});
