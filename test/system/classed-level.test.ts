/** Levels of bundles with classes: which way is taken, and what is promised. */
import { expect, test } from "vitest";
import { classedLevel } from "../../compiler/methods/ramsis/divided-level.ts";
import { promised } from "../../compiler/methods/ramsis/promise.ts";
import {
  type LevelProblem,
  levelProblem,
} from "../../compiler/methods/ramsis/solve/level-problem.ts";
import type { RamsisFrame } from "../../compiler/model/frames.ts";
import type { RamsisBundle, RamsisLevel } from "../../runtime/bundle/schema.ts";
import { validateBundle } from "../../runtime/bundles/checked-bundle.ts";
import { classFrameOf } from "../support/class-frame.ts";

const SLO = {
  latencyMs: 600,
  classes: [
    { name: "short", latencyMs: 100, share: 0.5 },
    { name: "long", latencyMs: 600, share: 0.5 },
  ],
};
/**
 * At a load that the workers carry with the middle variant in large batches, which leave no time
 * for short deadlines.
 */
const LOAD_QPS = 220;
const WORKERS = 3;

const bundleOf = (frame: RamsisFrame, levels: readonly RamsisLevel[]): RamsisBundle => {
  return { ...frame, levels, provenance: { compiler: "test", inputs: [] } };
};

const problemOf = (how: "auto" | "shared" | "separate", workers = WORKERS): LevelProblem =>
  levelProblem(
    classFrameOf({ workers, slo: SLO, how, loadsQps: [LOAD_QPS], maxViolationRate: 0.01 }),
  );
const separate = classedLevel(problemOf("separate"), LOAD_QPS);

test("the better of one queue and workers of their own is taken, by what is simulated", () => {
  const auto = classedLevel(problemOf("auto"), LOAD_QPS);
  const shared = classedLevel(problemOf("shared"), LOAD_QPS);
  expect(shared.classTables).toBeUndefined();
  expect(separate.classTables?.reduce((sum, { workers }) => sum + workers, 0)).toBe(WORKERS);
  const best = [shared, separate].toSorted(
    (a, b) => b.expected.accuracyPerQuery - a.expected.accuracyPerQuery,
  );
  expect(auto).toEqual(best[0]);
  expect(auto.expected.accuracyPerQuery).toBeLessThanOrEqual(auto.expected.upperBoundAccuracy);
});

test("a level promises of every class what its tables give, and a bundle of it is sound", () => {
  const problem = problemOf("separate");
  const { frame } = problem;
  expect(validateBundle(bundleOf(frame, [separate]))).toEqual(bundleOf(frame, [separate]));
  expect(promised(problem, separate)).toEqual(separate.expected);
  const { byClass = {}, accuracyPerQuery } = separate.expected;
  expect(Object.keys(byClass)).toEqual(["short", "long"]);
  const [short, long] = [byClass["short"], byClass["long"]];
  const mean = ((short?.accuracyPerQuery ?? 0) + (long?.accuracyPerQuery ?? 0)) / 2;
  expect(mean).toBeCloseTo(accuracyPerQuery, 2);
});

test("fewer workers than classes share a queue; too many violations make it infeasible", () => {
  const level = classedLevel(problemOf("auto", 1), 2 * LOAD_QPS);
  expect(level.classTables).toBeUndefined();
  expect(level.feasible).toBe(false);
});
