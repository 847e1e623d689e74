import { describe, expect, test } from "vitest";
import {
  COARSE_BASELINES,
  inferlineBaseline,
} from "../../../../compiler/methods/inferline/baselines.ts";
import type { InferlineBundle } from "../../../../runtime/bundle/schema.ts";
import { type InferlineBundleSketch, inferlineBundle } from "../../../support/inferline-bundle.ts";

const SKETCH: InferlineBundleSketch = {
  sloMs: 100,
  workers: [40],
  tasks: [
    { name: "first", latencyMs: { 1: 10, 4: 20 } },
    { name: "second", from: { first: 1 }, latencyMs: { 1: 20, 4: 50 } },
  ],
  levels: [50, 400].map((loadQps) => ({
    loadQps,
    stages: [
      [4, 3],
      [1, 20],
    ],
  })),
  policy: { tuner: "relative" },
};
const BUNDLE = inferlineBundle(SKETCH);

function unitsOf({ levels }: InferlineBundle): number[] {
  return levels.map(({ plan }) => {
    const [first, second] = plan.stages.map(({ replicas }) => replicas);
    expect(first).toBe(second);
    return first ?? Number.NaN;
  });
}

describe("inferlineBaseline", () => {
  test("plans every level for its own sample, the pipeline as one unit", () => {
    const { bundle, tunerFor } = inferlineBaseline(BUNDLE, "cg-mean");
    // Batches of 4 take 70 ms, and 80 per second of the second stage. 400 per second of a sample
    // may be a little more or less.
    expect(bundle.levels[0]?.plan.stages.map(({ batch }) => batch)).toEqual([4, 4]);
    const [low, high] = unitsOf(bundle);
    expect(low).toBe(1);
    expect([5, 6]).toContain(high);
    expect(bundle.policy.tuner).toBe("none");
    expect(tunerFor(50)).toBeNull();
    expect(bundle.levels.map(({ sample }) => sample)).toEqual(
      BUNDLE.levels.map(({ sample }) => sample),
    );
  });

  test("has more units for peaks than for means, and the dearest of several samples", () => {
    const mean = unitsOf(inferlineBaseline(BUNDLE, "cg-mean").bundle);
    const peak = unitsOf(inferlineBaseline(BUNDLE, "cg-peak").bundle);
    const several = inferlineBundle({ ...SKETCH, policy: { traces: 8 } });
    const most = unitsOf(inferlineBaseline(several, "cg-peak").bundle);
    for (const [level, units] of mean.entries()) {
      expect(peak[level]).toBeGreaterThan(units);
      expect(most[level]).toBeGreaterThanOrEqual(peak[level] ?? Number.NaN);
    }
    expect(most).not.toEqual(peak);
  });

  test("draws the sample for the load that the plan is for, even below the level's", () => {
    const [low, high] = BUNDLE.levels;
    if (low === undefined || high === undefined) throw new RangeError("there are two levels");
    const short = { ...BUNDLE, levels: [{ ...high, feasible: false, capacityQps: 50 }] };
    const alone = { ...BUNDLE, levels: [low] };
    expect(unitsOf(inferlineBaseline(short, "cg-peak").bundle)).toEqual(
      unitsOf(inferlineBaseline(alone, "cg-peak").bundle),
    );
  });

  test("starts its tuner with the level of the first load", () => {
    const { bundle, tunerFor } = inferlineBaseline(BUNDLE, "cg-peak-autoscale");
    const [low, high] = unitsOf(bundle);
    expect([...(tunerFor(40)?.targets ?? [])]).toEqual([low, low]);
    expect([...(tunerFor(51)?.targets ?? [])]).toEqual([high, high]);
    expect([...(tunerFor(Number.NaN)?.targets ?? [])]).toEqual([high, high]);
  });

  test.each<[string, Partial<InferlineBundle>, string, RegExp]>([
    ["another name", {}, "proteus", /method inferline; expected one of cg-mean, cg-peak, cg-mean-/],
    [
      "a recorded sample",
      { arrivals: { process: "trace", file: "day.csv", dispersion: 1 } },
      "cg-mean",
      /recorded \(day\.csv\) and is not in the bundle; compile with poisson or gamma arrivals/,
    ],
    [
      "an SLO below the shortest batches",
      { slo: { latencyMs: 29, maxViolationRate: null, percentile: 99 } },
      "cg-peak",
      /--baseline cg-peak has no plan for 50 qps: no batch of the whole pipeline meets the SLO/,
    ],
  ])("refuses %s", (_, changes, name, message) => {
    expect(() => inferlineBaseline({ ...BUNDLE, ...changes }, name)).toThrow(
      expect.objectContaining({
        code: "RUNTIME_USAGE",
        message: expect.stringMatching(message),
      }),
    );
  });

  test("refuses a level whose peaks are too much for the pools", () => {
    const small = inferlineBundle({ ...SKETCH, workers: [14] });
    expect(() => inferlineBaseline(small, "cg-peak")).toThrow(
      /no plan for 400 qps.*too few workers/,
    );
    expect(() => inferlineBaseline(small, "cg-mean")).not.toThrow();
  });

  test("knows the names that the command line offers", () => {
    for (const name of COARSE_BASELINES)
      expect(() => inferlineBaseline(BUNDLE, name)).not.toThrow();
  });
});
