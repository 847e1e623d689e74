import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { arrivalSource } from "../../../../../compiler/simulate/arrivals.ts";
import { Rng } from "../../../../../runtime/core/rng.ts";
import {
  ratioFor,
  replicasAt,
  wholeOf,
} from "../../../../../runtime/methods/inferline/core/staffing.ts";
import { SureLoad, sureMean } from "../../../../../runtime/methods/inferline/core/sure-load.ts";
import { TrailingEnvelope } from "../../../../../runtime/methods/inferline/core/traffic-envelope.ts";
import { inferlineBundle } from "../../../../support/inferline-bundle.ts";

const SLACK = { dispersion: 1, slack: 1.5 };

function levelOf(loadQps: number, envelope: readonly (readonly [number, number])[]) {
  const { levels } = inferlineBundle({
    tasks: [{ name: "a", latencyMs: { 1: 10 } }],
    levels: [{ loadQps, stages: [[1, 4]], envelope }],
  });
  const [level] = levels;
  if (level === undefined) throw new RangeError("the sketch has a level");
  return level;
}

const LEVEL = levelOf(100, [
  [100, 20],
  [1000, 130],
  [60_000, 6200],
]);

describe("what a count is sure of", () => {
  test("is the least mean for which it is within the deviations", () => {
    const count = fc.integer({ min: 1, max: 100_000 });
    fc.assert(
      fc.property(count, fc.double({ min: 0, max: 20, noNaN: true }), (n, deviations) => {
        const mean = sureMean(n, deviations);
        expect(mean + deviations * Math.sqrt(mean)).toBeCloseTo(n, 6);
      }),
    );
    expect(sureMean(0, 3)).toBe(0);
    expect(sureMean(-1, 3)).toBe(0);
  });

  test("is a load in all windows, the highest of them", () => {
    const load = new SureLoad(LEVEL, Float64Array.of(100, 1000), SLACK);
    expect([...load.sampleRequests]).toEqual([20, 130]);
    // 20 of 10 lie 3.16 roots above; with the slack 4.66. The count less one: 10 + 4.66 · 3.16.
    expect(load.ratioOf(Uint32Array.of(25, 0))).toBeLessThan(1);
    expect(load.ratioOf(Uint32Array.of(26, 0))).toBeGreaterThan(1);
    expect(load.ratioOf(Uint32Array.of(0, 300))).toBeGreaterThan(2);
    expect(load.ratioOf(Uint32Array.of(1, 1))).toBe(0);
  });

  test("says nothing of windows that are shorter than those of the sample", () => {
    const load = new SureLoad(LEVEL, Float64Array.of(50, 1000), SLACK);
    expect(load.sampleRequests[0]).toBeNaN();
    expect(load.ratioOf(Uint32Array.of(1000, 0))).toBe(0);
    const limits = new Float64Array(2);
    load.setLimits(1, limits);
    expect(limits[0]).toBe(Number.POSITIVE_INFINITY);
  });

  test("exceeds a ratio exactly where a count exceeds its limit", () => {
    const load = new SureLoad(LEVEL, Float64Array.of(100, 1000), SLACK);
    const ratios = fc.double({ min: 0.05, max: 20, noNaN: true });
    fc.assert(
      fc.property(ratios, fc.constantFrom(0, 1), (ratio, window) => {
        const limits = new Float64Array(2);
        load.setLimits(ratio, limits);
        const counts = new Uint32Array(2);
        counts[window] = Math.floor(limits[window] ?? 0);
        expect(load.ratioOf(counts)).toBeLessThanOrEqual(ratio * (1 + 1e-9));
        counts[window] = Math.floor(limits[window] ?? 0) + 1;
        expect(load.ratioOf(counts)).toBeGreaterThan(ratio * (1 - 1e-9));
      }),
    );
  });

  test("is no more than the level's own load in an hour of its own traffic", () => {
    const windowMs = Float64Array.of(100, 1000, 10_000, 30_000);
    const arrivals = new Float64Array(360_000);
    arrivalSource({ kind: "poisson", qps: 100 }, new Rng(5, 1)).fill(arrivals);
    const sample = new TrailingEnvelope(windowMs, 120_000);
    for (const ms of arrivals.filter((one) => one < 120_000)) sample.record(ms);
    const envelope = Array.from(windowMs, (ms, at) => [ms, sample.maxima[at] ?? 0] as const);
    const load = new SureLoad(levelOf(100, [...envelope, [60_000, 6300]]), windowMs, SLACK);
    const recent = new TrailingEnvelope(windowMs, 30_000);
    let above = 0;
    for (const ms of arrivals) {
      recent.record(ms);
      if (load.ratioOf(recent.maxima) > 1) above++;
    }
    expect(above / arrivals.length).toBeLessThan(0.05);
  });
});

describe("replicas at another load", () => {
  const stage = LEVEL.plan.stages[0] ?? { replicas: 0 };

  test("are those of the plan at its own, and fewer or more at others, not in proportion", () => {
    const [own] = LEVEL.plan.stages;
    if (own === undefined) throw new RangeError("the level has a stage");
    expect(replicasAt(own, 1)).toBe(stage.replicas);
    expect(replicasAt(own, 0)).toBe(0);
    expect(replicasAt(own, 0.25)).toBeGreaterThan(0.25 * own.replicas);
    expect(replicasAt(own, 4)).toBeLessThan(4 * own.replicas);
    expect(replicasAt({ ...own, provisioningRatio: 1 }, 4)).toBe(4 * own.replicas);
  });

  test("are enough up to the ratio that is told of them", () => {
    const [own] = LEVEL.plan.stages;
    if (own === undefined) throw new RangeError("the level has a stage");
    for (const provisioningRatio of [0, 0.01, 0.5, 0.99, 1, 1.2]) {
      const one = { ...own, provisioningRatio };
      for (const count of [1, 2, 3, 7, 40]) {
        expect(replicasAt(one, ratioFor(one, count))).toBeCloseTo(count, 9);
      }
    }
  });

  test("are rounded up, but not for a rounding error, and never none", () => {
    expect([0, Number.NaN, 0.4, 1, 1 + 1e-12, 1.01, 2].map(wholeOf)).toEqual([1, 1, 1, 1, 1, 2, 2]);
  });
});
