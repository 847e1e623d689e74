import { describe, expect, it } from "vitest";
import { judge } from "../../../../../compiler/methods/inferline/solve/judge.ts";
import {
  planWithLeastMargin,
  planWithMargin,
} from "../../../../../compiler/methods/inferline/solve/margin.ts";
import { costOf } from "../../../../../compiler/methods/inferline/solve/problem.ts";
import { drawRequests } from "../../../../../compiler/simulate/graph/drawn-requests.ts";
import { inferlineBundle } from "../../../../support/inferline-bundle.ts";
import { problemAndPlan } from "../../../../support/inferline-problem.ts";

const { problem } = problemAndPlan(
  inferlineBundle({
    tasks: [
      { name: "a", latencyMs: { 1: 12, 2: 16, 4: 24 } },
      { name: "b", from: { a: 1 }, latencyMs: { 1: 20, 2: 26, 4: 38 } },
    ],
    workers: [50],
    sloMs: 110,
    levels: [
      {
        loadQps: 100,
        stages: [
          [1, 1],
          [1, 1],
        ],
      },
    ],
  }),
);
const tracesFrom = (seed: number, count: number) =>
  Array.from({ length: count }, (_, index) =>
    drawRequests(problem.graph, { kind: "gamma", qps: 150, cv2: 3 }, 20_000, seed + index),
  );
const SAMPLES = tracesFrom(1, 1);
const CALIBRATION = tracesFrom(1000, 60);
const OPTIONS = { refine: "exact", queryLimit: 1e9 } as const;

describe("a margin", () => {
  it("keeps its part of the SLO free on the sample", () => {
    const { configuration, margin } = planWithMargin(problem, SAMPLES, 0.3, OPTIONS);
    expect(margin).toBe(0.3);
    const { percentileMs } = judge(problem, configuration ?? [], SAMPLES);
    expect(percentileMs).toBeLessThanOrEqual(0.7 * 110);
  });

  it("is the least under which other traces meet the SLO", () => {
    const found = planWithLeastMargin(problem, SAMPLES, CALIBRATION, OPTIONS);
    const verdict = judge(problem, found.configuration ?? [], CALIBRATION);
    expect(verdict.met).toBeGreaterThanOrEqual(59);
    expect(found.margin).toBeGreaterThan(0);
    // One step less does not do; the plan is what this margin gives without anything known
    // beforehand.
    const less = planWithMargin(problem, SAMPLES, found.margin - 0.01, OPTIONS);
    expect(judge(problem, less.configuration ?? [], CALIBRATION).met).toBeLessThan(59);
    const alone = planWithMargin(problem, SAMPLES, found.margin, OPTIONS);
    expect(costOf(problem, found.configuration ?? [])).toBe(
      costOf(problem, alone.configuration ?? []),
    );
    expect(found.lowerBound).toBe(alone.lowerBound);
  });

  it("holds on traces that it was not chosen with either", () => {
    const { configuration } = planWithLeastMargin(problem, SAMPLES, CALIBRATION, OPTIONS);
    const { met, traces } = judge(problem, configuration ?? [], tracesFrom(5000, 100));
    expect(met / traces).toBeGreaterThanOrEqual(0.95);
    const overfit = planWithMargin(problem, SAMPLES, 0, OPTIONS);
    expect(judge(problem, overfit.configuration ?? [], tracesFrom(5000, 100)).met).toBeLessThan(
      met,
    );
  });

  it("has its plan proven with the whole limit, though probes have a part of it", () => {
    // As little as suffices for each margin with the whole limit, and does not with a part of it.
    const found = planWithLeastMargin(problem, SAMPLES, CALIBRATION, OPTIONS);
    const least = leastLimit((queryLimit) => {
      const one = planWithMargin(problem, SAMPLES, found.margin, { ...OPTIONS, queryLimit });
      return one.lowerBound === costOf(problem, one.configuration ?? []);
    });
    const short = { ...OPTIONS, queryLimit: least };
    const probe = planWithMargin(problem, SAMPLES, found.margin, {
      ...OPTIONS,
      queryLimit: least / 4,
    });
    expect(probe.lowerBound).toBeLessThan(costOf(problem, probe.configuration ?? []));
    const plan = planWithLeastMargin(problem, SAMPLES, CALIBRATION, short);
    expect(plan.lowerBound).toBe(costOf(problem, plan.configuration ?? []));
    expect(judge(problem, plan.configuration ?? [], CALIBRATION).met).toBeGreaterThanOrEqual(59);
  });
});

/** The least limit that is enough, about. */
function leastLimit(isEnough: (queryLimit: number) => boolean): number {
  let limit = 1000;
  while (!isEnough(limit)) limit = Math.ceil(limit * 1.2);
  return limit;
}
