/** The bounds against the linear programme they stand for, and against exact policies. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { fluidBound } from "../../../../../compiler/methods/ramsis/solve/fluid-bound.ts";
import { solvePolicy } from "../../../../../compiler/methods/ramsis/solve/objective.ts";
import {
  admissibleActions,
  buildWorkerMdp,
} from "../../../../../compiler/methods/ramsis/solve/worker-mdp.ts";
import {
  meanServiceMs,
  probabilityInTime,
  type WorkerProblem,
} from "../../../../../compiler/methods/ramsis/solve/worker-problem.ts";
import { smallProblems, variedProblems } from "../../../../support/worker-problem.ts";
import { maximum } from "./linear-program.ts";

/**
 * Queries served per query that arrives, by (variant, batch): at least `least` and at most one.
 * Null where the programme has no solution.
 */
function byLinearProgram(problem: WorkerProblem, least: number): number | null {
  const sloMs = problem.slackMs[problem.slackMs.length - 1] ?? 0;
  const accuracy: number[] = [];
  const cost: number[] = [];
  for (const variant of problem.candidates) {
    for (let batch = 1; batch <= (problem.largestBatch[variant] ?? 0); batch++) {
      const inTime = probabilityInTime(problem, { variant, batch }, sloMs);
      if (inTime === 0) continue;
      accuracy.push(inTime * (problem.accuracy[variant] ?? 0));
      cost.push(meanServiceMs(problem, variant, batch) / batch);
    }
  }
  if (cost.length === 0) return least > 0 ? null : 0;
  const budget = problem.workerCount / problem.arrivalRatePerMs;
  const ones = new Map(cost.map((_, index) => [index, 1]));
  const negative = new Map(cost.map((_, index) => [index, -1]));
  return maximum(accuracy, [
    { coefficients: ones, kind: "at-most", bound: 1 },
    { coefficients: negative, kind: "at-most", bound: -least },
    { coefficients: new Map(cost.entries()), kind: "at-most", bound: budget },
  ]);
}

test("the bound is the optimum of its linear programme, for every ceiling on violations", () => {
  const kept = { all: 0, some: 0 };
  const ceilings = fc.constantFrom(0, 0.01, 0.2, 1);
  fc.assert(
    fc.property(fc.oneof(smallProblems, variedProblems), ceilings, (problem, ceiling) => {
      const { accuracy } = fluidBound(problem, ceiling);
      const own = byLinearProgram(problem, 1 - ceiling);
      if (own !== null) kept[ceiling === 0 ? "all" : "some"]++;
      const expected = own ?? byLinearProgram(problem, 0) ?? 0;
      expect(Math.abs(accuracy - expected)).toBeLessThan(1e-6);
    }),
    { numRuns: 400, seed: 9 },
  );
  expect(kept.all).toBeGreaterThan(30);
  expect(kept.some).toBeGreaterThan(100);
});

test("its price is what a little more of the workers' time brings", () => {
  fc.assert(
    fc.property(smallProblems, fc.constantFrom(0, 0.1, 1), (problem, ceiling) => {
      const { accuracy, price } = fluidBound(problem, ceiling);
      const share = 1e-7;
      const more = { ...problem, arrivalRatePerMs: problem.arrivalRatePerMs / (1 + share) };
      const budget = problem.workerCount / problem.arrivalRatePerMs;
      const gained = (fluidBound(more, ceiling).accuracy - accuracy) / (share * budget);
      // At a corner the price is that of the side with more time, and just beyond capacity the
      // programme changes.
      if (Math.abs(gained) < 1) expect(Math.abs(gained - price)).toBeLessThan(1e-4);
    }),
    { numRuns: 200, seed: 11 },
  );
});

test("the measured figures of the page: 60 workers, SLO 150 ms, drops free or none", () => {
  // Two variants of the ImageNet profile, the batches that the optimum takes: mobilenet x 8 and
  // shufflenet x 9.
  const problem = {
    ...smallest(),
    accuracy: Float64Array.of(0.73004, 0.57972),
  };
  const at = (loadQps: number, ceiling: number): number =>
    100 * fluidBound({ ...problem, arrivalRatePerMs: loadQps / 1000 }, ceiling).accuracy;
  expect(at(3400, 1)).toBeCloseTo(68.99, 1);
  expect(at(3600, 1)).toBeCloseTo(65.16, 1);
  expect(at(3600, 0)).toBeCloseTo(62.73, 1);
});

function smallest(): WorkerProblem {
  const times = (first: number, ms: number, batch: number): number[] =>
    Array.from({ length: 10 }, (_, index) => (index + 1 === batch ? ms : first * (index + 1)));
  return {
    workerCount: 60,
    arrivalRatePerMs: 3.6,
    crowdedRatePerMs: null,
    dispersion: 1,
    slackMs: Float64Array.of(0, 150),
    maxQueue: 9,
    partialBatches: false,
    variantCount: 2,
    accuracy: new Float64Array(2),
    candidates: [0, 1],
    largestBatch: Uint32Array.of(8, 9),
    serviceMs: Float64Array.of(...times(31.5, 149.4, 8), ...times(21.9, 141.65, 9)),
    serviceKnotsMs: null,
  };
}

test("no policy of a worker exceeds the bound", () => {
  fc.assert(
    fc.property(smallProblems, (problem) => {
      const mdp = buildWorkerMdp(problem, admissibleActions(problem));
      const { accuracyPerQuery } = solvePolicy(mdp, "per-query").guarantees;
      expect(accuracyPerQuery).toBeLessThanOrEqual(fluidBound(problem, 1).accuracy + 1e-7);
    }),
    { numRuns: 60, seed: 10 },
  );
});
