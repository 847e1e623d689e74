/** The fluid limit with classes: bounds, capacity, and how workers are divided. */
import fc from "fast-check";
import { expect, test } from "vitest";
import {
  allot,
  classBound,
  classCapacityQps,
  classCurves,
  fluidSplit,
} from "../../../../../compiler/methods/ramsis/solve/class-fluid.ts";
import { levelProblem } from "../../../../../compiler/methods/ramsis/solve/level-problem.ts";
import { ramsis } from "../../../../../compiler/methods/ramsis/solve/ramsis.ts";
import type { SloClass } from "../../../../../runtime/bundle/schema.ts";
import { classApplication, classFrameOf } from "../../../../support/class-frame.ts";
import { ofMethod } from "../../../../support/of-method.ts";
import { maximum, type Row } from "./linear-program.ts";

const classesOf = (shares: readonly number[], latencies: readonly number[]): SloClass[] => {
  const sum = shares.reduce((total, share) => total + share, 0);
  return shares.map((share, index) => {
    return { name: `c${index}`, share: share / sum, latencyMs: latencies[index] ?? 0 };
  });
};

const problems = fc
  .record({
    workers: fc.integer({ min: 1, max: 6 }),
    use: fc.double({ min: 0.05, max: 1.3, noNaN: true }),
    shares: fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 2, maxLength: 3 }),
    // A fast variant that is worth little: serving fewer queries better is more accurate then.
    fastest: fc.constantFrom(0.58, 0.15),
    latencies: fc.tuple(
      fc.integer({ min: 8, max: 60 }),
      fc.integer({ min: 20, max: 200 }),
      fc.integer({ min: 50, max: 500 }),
    ),
  })
  .map(({ workers, use, shares, latencies, fastest }) => {
    const classes = classesOf(shares, latencies);
    const latencyMs = Math.max(...classes.map((sloClass) => sloClass.latencyMs));
    const accuracies = [fastest, 0.7, 0.8] as const;
    const problem = levelProblem(
      classFrameOf({ workers, slo: { latencyMs, classes }, accuracies }),
    );
    return { problem, loadQps: use * classCapacityQps(problem), classes };
  });

/**
 * The same relaxation as a linear programme over shares of each class's queries by variant and
 * batch.
 */
function byLinearProgram(
  curves: ReturnType<typeof classCurves>,
  budgetMs: number,
  least: number,
): number | null {
  const accuracy: number[] = [];
  const time = new Map<number, number>();
  const rows: Row[] = [];
  const served = new Map<number, number>();
  for (const { share, points } of curves) {
    const own = new Map<number, number>();
    for (const point of points) {
      own.set(accuracy.length, 1);
      time.set(accuracy.length, share * point.cost);
      served.set(accuracy.length, -share);
      accuracy.push(share * point.accuracy);
    }
    rows.push({ coefficients: own, kind: "at-most", bound: 1 });
  }
  rows.push({ coefficients: time, kind: "at-most", bound: budgetMs });
  rows.push({ coefficients: served, kind: "at-most", bound: -least });
  return maximum(accuracy, rows);
}

test("the bound is the optimum of its linear programme, whatever may be violated", () => {
  let constrained = 0;
  fc.assert(
    fc.property(problems, fc.constantFrom(0, 0.01, 0.3), ({ problem, loadQps }, ceiling) => {
      const curves = classCurves(problem, loadQps, { formation: false });
      const { workers } = problem;
      const budgetMs = (1000 * workers) / loadQps;
      const within = byLinearProgram(curves, budgetMs, 1 - ceiling);
      const free = byLinearProgram(curves, budgetMs, 0) ?? Number.NaN;
      if (within !== null && within < free - 1e-6) constrained++;
      const bound = classBound(problem, loadQps, ceiling);
      expect(Math.abs(bound - (within ?? free))).toBeLessThan(1e-6);
    }),
    { numRuns: 150, seed: 5 },
  );
  expect(constrained).toBeGreaterThan(5);
});

test("the capacity is the load at which serving every query takes all the time", () => {
  fc.assert(
    fc.property(problems, ({ problem }) => {
      const capacityQps = classCapacityQps(problem);
      const { workers } = problem;
      const curves = classCurves(problem, capacityQps, { formation: false });
      const servedAt = (part: number): number =>
        allot(curves, (1000 * workers) / (part * capacityQps), 1e6).served;
      expect(servedAt(0.999)).toBeCloseTo(1, 9);
      expect(servedAt(1.01)).toBeLessThan(1);
    }),
    { numRuns: 50, seed: 6 },
  );
});

test("workers are divided whole, every class having one", () => {
  fc.assert(
    fc.property(problems, ({ problem, loadQps, classes }) => {
      const { workers } = problem;
      const split = fluidSplit(problem, loadQps);
      if (workers < classes.length) {
        expect(split).toBeNull();
        return;
      }
      expect(split).toHaveLength(classes.length);
      expect(split?.every((count) => Number.isInteger(count) && count >= 1)).toBe(true);
      expect(split?.reduce((sum, count) => sum + count, 0)).toBe(workers);
    }),
    { numRuns: 50, seed: 7 },
  );
});

test("near capacity workers follow the load", () => {
  const classes = classesOf([3, 1], [150, 150]);
  const problem = levelProblem(classFrameOf({ workers: 8, slo: { latencyMs: 150, classes } }));
  expect(fluidSplit(problem, 0.9 * classCapacityQps(problem))).toEqual([6, 2]);
});

test("each class needs a worker of its own, and a frame has every class's axes", () => {
  const classes = classesOf([1, 1, 2], [100, 200, 400]);
  const slo = { latencyMs: 400, classes };
  const mistakes = (workers: number) =>
    [
      ...ramsis.mistakes(ofMethod("ramsis", classApplication({ workers, slo, how: "separate" }))),
    ].map(({ path, message }) => `${path.join(".")}: ${message}`);
  expect(mistakes(3)).toEqual([]);
  expect(mistakes(2)).toEqual([
    'policy.classes: "separate" needs a worker for each of the 3 classes, got 2; ' +
      'allowed: "auto" or "shared"',
  ]);
  const frame = classFrameOf({ workers: 3, slo, loadsQps: [1000] });
  expect(frame.policy.classes).toBe("auto");
  // 1.2 times what the workers serve at most in the time that queries have, 275 ms on average.
  expect(frame.decisionSpace.maxQueue).toBe(194);
  expect(frame.classSpaces?.map(({ maxQueue }) => maxQueue)).toEqual([71, 141, 281]);
  expect(frame.classSpaces?.map(({ slackMs }) => slackMs.data.at(-1))).toEqual([100, 200, 400]);
});
