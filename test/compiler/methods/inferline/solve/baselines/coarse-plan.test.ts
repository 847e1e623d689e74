import { describe, expect, it } from "vitest";
import { coarsePlan } from "../../../../../../compiler/methods/inferline/solve/baselines/coarse-plan.ts";
import { inferlineBundle } from "../../../../../support/inferline-bundle.ts";

/**
 * A fast expensive pool and a slow cheap one; the second stage gets half of the requests and knows
 * small batches only.
 */
function bundleWith(sloMs: number, workers: readonly number[] = [100, 100]) {
  return inferlineBundle({
    sloMs,
    workers,
    prices: [2.5, 0.1],
    tasks: [
      {
        name: "first",
        latencyMs: [
          { 1: 10, 4: 20, 16: 60, 32: 100 },
          { 1: 40, 8: 80 },
        ],
      },
      {
        name: "second",
        from: { first: 0.5 },
        latencyMs: [
          { 1: 5, 2: 8 },
          { 1: 5, 2: 6, 8: 10 },
        ],
      },
    ],
    levels: [
      {
        loadQps: 100,
        stages: [
          [1, 1],
          [1, 1, 1],
        ],
      },
    ],
  });
}

/** 200 in the first 100 ms of two seconds, 100 after that. */
const arrivalMs = Float64Array.from([
  ...Array.from({ length: 200 }, (_, index) => index / 2),
  ...Array.from({ length: 100 }, (_, index) => 200 + 18 * index),
]);
const sample = { arrivalMs, durationMs: 2000, scaleFactors: [1, 0.5] };

describe("coarsePlan", () => {
  it("has the largest batch that meets the SLO, on the fastest hardware", () => {
    const plan = coarsePlan(bundleWith(75), { ...sample, sizing: "mean" });
    // 60 + 10 ms at 16; at 32 it would be 110. The second stage is as fast on either at a batch of
    // one, so on the cheap one.
    expect(plan?.stages.map(({ pool, batch, latencyMs }) => [pool, batch, latencyMs])).toEqual([
      [0, 16, 60],
      [1, 8, 10],
    ]);
    expect(coarsePlan(bundleWith(70), { ...sample, sizing: "mean" })?.stages[0]?.batch).toBe(16);
    expect(coarsePlan(bundleWith(69.9), { ...sample, sizing: "mean" })?.stages[0]?.batch).toBe(4);
  });

  it("has the units that the mean rate asks of the slowest task, or the peak rate", () => {
    const bundle = bundleWith(75);
    const mean = coarsePlan(bundle, { ...sample, sizing: "mean" });
    // 16 in 60 ms are 267 per second, the mean is 150; 8 in 10 ms for half of the requests are
    // 1600.
    expect(mean?.stages.map(({ replicas }) => replicas)).toEqual([1, 1]);
    expect(mean?.costPerHour).toBe(2.6);
    expect(mean?.stages[1]?.provisioningRatio).toBeCloseTo(75 / 800, 12);
    const peak = coarsePlan(bundle, { ...sample, sizing: "peak" });
    // 151 in 75 ms are 2013 per second.
    expect(peak?.stages.map(({ replicas }) => replicas)).toEqual([8, 8]);
    expect(peak?.costPerHour).toBe(20.8);
  });

  it("finds none where no batch meets the SLO or a pool has too few workers", () => {
    expect(coarsePlan(bundleWith(14.9), { ...sample, sizing: "mean" })).toBeNull();
    expect(coarsePlan(bundleWith(15), { ...sample, sizing: "mean" })?.stages[0]?.batch).toBe(1);
    expect(coarsePlan(bundleWith(75, [7, 100]), { ...sample, sizing: "peak" })).toBeNull();
    expect(coarsePlan(bundleWith(75, [8, 8]), { ...sample, sizing: "peak" })).not.toBeNull();
  });

  it("counts stages that share a pool together", () => {
    const bundle = inferlineBundle({
      workers: [3],
      sloMs: 100,
      tasks: [
        { name: "a", latencyMs: { 1: 10 } },
        { name: "b", from: { a: 1 }, latencyMs: { 1: 10 } },
      ],
      levels: [
        {
          loadQps: 1,
          stages: [
            [1, 1],
            [1, 1],
          ],
        },
      ],
    });
    const plan = { ...sample, scaleFactors: [1, 1], sizing: "mean" } as const;
    expect(coarsePlan(bundle, plan)).toBeNull();
  });
});
