import { describe, expect, test } from "vitest";
import { simulateInferlineCommand } from "../../../../compiler/methods/inferline/simulate-command.ts";
import type { AskedRun } from "../../../../compiler/methods/method.ts";
import { inferlineBundle } from "../../../support/inferline-bundle.ts";

const BUNDLE = inferlineBundle({
  tasks: [
    { name: "detect", latencyMs: { 1: 10 }, accuracy: 0.5 },
    { name: "read", from: { detect: 0.5 }, latencyMs: { 1: 10 } },
  ],
  levels: [
    {
      loadQps: 10,
      stages: [
        [1, 1],
        [1, 1],
      ],
    },
    {
      loadQps: 50,
      stages: [
        [1, 2],
        [1, 1],
      ],
    },
  ],
});
const OPTIONS: AskedRun = {
  arrivals: { kind: "poisson", qps: 20 },
  durationMs: 10_000,
  seed: 1,
  serviceTimes: "p95",
};

/** A clock that goes on by half a second with every look. */
function watch(): { nowMs: () => number } {
  let nowMs = 0;
  return {
    nowMs: () => {
      nowMs += 500;
      return nowMs;
    },
  };
}

describe("the answer", () => {
  test("has the keys of the contract and what the level is expected to give", () => {
    const { json, exitCode } = simulateInferlineCommand(BUNDLE, OPTIONS, null, watch());
    expect(exitCode).toBe(0);
    expect(json).toMatchObject({
      seed: 1,
      durationMs: 10_000,
      late: 0,
      dropped: 0,
      violationRate: 0,
      servers: { mean: 3, max: 3 },
      costPerHour: 3,
      wallMs: 500,
      expected: BUNDLE.levels[1]?.expected,
    });
    const { queries, satisfied, queriesPerWallSecond } = json as Record<string, number>;
    expect(satisfied).toBe(queries);
    expect(queriesPerWallSecond).toBe(2 * (queries ?? 0));
    expect(Object.keys(json as object)).toEqual(
      expect.arrayContaining(["accuracyPerSatisfied", "latencyMs", "byVariant", "byTask"]),
    );
    expect(json).not.toHaveProperty("latencyMsByRequest");
  });

  test("as text says what was served, by how many replicas, at what cost", () => {
    const { text } = simulateInferlineCommand(BUNDLE, OPTIONS, null, watch());
    expect(text).toContain("replicas: mean 3.0, at most 3; 0 started, 0 stopped");
    expect(text).toMatch(/cost\/hour +3 +3/);
    expect(text).toContain("expected at 50 qps");
    expect(text).toMatch(/^detect +\d+ +1 +2\.00 +2$/m);
  });

  test("of a trace has no expectation, and an empty one no latency", () => {
    const trace = { kind: "arrivals", arrivalMs: new Float64Array(0) } as const;
    const arrivals = { kind: "trace", trace } as const;
    const { json, text } = simulateInferlineCommand(
      BUNDLE,
      { ...OPTIONS, arrivals },
      null,
      watch(),
    );
    expect(json).not.toHaveProperty("expected");
    expect(json).toMatchObject({ queries: 0, latencyMs: null, violationRate: 0 });
    expect(text).toContain("no request was served");
  });
});

describe("a baseline", () => {
  test("is served in place of the bundle, whose expectation says nothing of it", () => {
    const { json, text } = simulateInferlineCommand(
      BUNDLE,
      OPTIONS,
      { name: "cg-peak", tuned: false },
      watch(),
    );
    expect(json).not.toHaveProperty("expected");
    expect(text).not.toContain("expected");
    const { costPerHour, scaling } = json as { costPerHour: number; scaling: object };
    // Bursts of the sample within the SLO are of far more than 50 per second, and every stage has
    // as many replicas.
    expect(costPerHour).toBeGreaterThan(3);
    expect(costPerHour % 2).toBe(0);
    expect(scaling).toEqual({ up: 0, down: 0 });
  });

  test("with a tuner gets units for as much traffic as comes", () => {
    const arrivals = { kind: "poisson", qps: 130 } as const;
    const options = { ...OPTIONS, arrivals, durationMs: 60_000 };
    const [fixed, tuned] = ["cg-mean", "cg-mean-autoscale"].map((baseline) => {
      const { json } = simulateInferlineCommand(
        BUNDLE,
        options,
        { name: baseline, tuned: false },
        watch(),
      );
      return json as { violationRate: number; scaling: { up: number } };
    });
    expect(fixed?.scaling.up).toBe(0);
    expect(tuned?.scaling.up).toBeGreaterThan(0);
    expect(tuned?.violationRate).toBeLessThan(fixed?.violationRate ?? Number.NaN);
  });
});

test.each(["inferline", "greedy"])(
  "refuses the baseline %o, which is of other methods",
  (baseline) => {
    expect(() =>
      simulateInferlineCommand(BUNDLE, OPTIONS, { name: baseline, tuned: false }, watch()),
    ).toThrow(
      expect.objectContaining({
        code: "RUNTIME_USAGE",
        message: expect.stringMatching(/--baseline (inferline|greedy) is not for .* inferline/),
      }),
    );
  },
);
