/** The image profiles of the paper at K = 60, SLO 150 ms: what a level has to reach there. */
import { expect, test } from "vitest";
import { ramsis } from "../../../../../compiler/methods/ramsis/solve/ramsis.ts";
import type { Application, RamsisPolicy } from "../../../../../compiler/spec/application.ts";
import { loadApplication } from "../../../../../compiler/spec/load-application.ts";
import type { RamsisLevel } from "../../../../../runtime/bundle/schema.ts";
import { ofMethod } from "../../../../support/of-method.ts";

const { application } = loadApplication("policies/image-classification/app.yaml");

function solve(
  loadQps: number,
  options: { maxViolationRate?: number; policy?: Partial<RamsisPolicy> } = {},
) {
  const { maxViolationRate = null, policy = {} } = options;
  const app = {
    ...application,
    slo: { ...application.slo, maxViolationRate },
    policy: {
      ...application.policy,
      balancer: "round-robin",
      discretization: { kind: "fixed", steps: 100 },
      ...policy,
    },
  } as Application;
  expect([...ramsis.mistakes(ofMethod("ramsis", app))]).toEqual([]);
  const frame = ramsis.frame(ofMethod("ramsis", app), new Map());
  return { frame, level: ramsis.solveLevel(frame, loadQps) };
}

function expectSame(found: RamsisLevel["expected"], expected: RamsisLevel["expected"]): void {
  expect(found.violationRate).toBeCloseTo(expected.violationRate, 12);
  expect(found.accuracyPerQuery).toBeCloseTo(expected.accuracyPerQuery, 12);
  expect(found.byBatch).toEqual(expected.byBatch);
}

test("at 2000 queries/s a policy per query has accuracy 0.7492 and 2.6e-4 violations", () => {
  const { expected } = solve(2000).level;
  expect(expected.accuracyPerQuery).toBeGreaterThanOrEqual(0.7492);
  expect(expected.violationRate).toBeLessThanOrEqual(2.6e-4);
});

test.each([400, 800, 1200, 1600, 2000, 2400, 2800, 3200, 3600, 4000])(
  "at %d queries/s a policy per query serves a query no worse than one per decision",
  (loadQps) => {
    const perQuery = solve(loadQps).level.expected;
    const perDecision = solve(loadQps, { policy: { objective: "per-decision" } }).level.expected;
    expect(perQuery.accuracyPerQuery).toBeGreaterThanOrEqual(perDecision.accuracyPerQuery - 1e-10);
    expect(perQuery.accuracyPerQuery).toBeLessThanOrEqual(perQuery.upperBoundAccuracy);
  },
);

test("at 3200 queries/s a ceiling of 0.1 % is met at accuracy 0.631", () => {
  const { frame, level } = solve(3200, { maxViolationRate: 1e-3 });
  expect(level.feasible).toBe(true);
  expect(level.mixture).not.toBeNull();
  expect(level.expected.violationRate).toBeLessThanOrEqual(1e-3);
  expect(level.expected.accuracyPerSatisfied).toBeGreaterThanOrEqual(0.631);
  expectSame(ramsis.expectedOf(frame, level), level.expected);
});

test("at 3600 queries/s no policy meets a ceiling of 0.1 %, and the level says so", () => {
  const { level } = solve(3600, { maxViolationRate: 1e-3 });
  expect(level.feasible).toBe(false);
  expect(level.mixture).toBeNull();
  expect(level.expected.violationRate).toBeGreaterThan(1e-3);
});
