import fc from "fast-check";
import { expect, test } from "vitest";
import { fluidBound } from "../../../../compiler/solvers/ramsis/fluid-bound.ts";
import { solvePolicy } from "../../../../compiler/solvers/ramsis/objective.ts";
import {
  admissibleActions,
  buildWorkerMdp,
} from "../../../../compiler/solvers/ramsis/worker-mdp.ts";
import {
  meanServiceMs,
  probabilityInTime,
  type WorkerProblem,
} from "../../../../compiler/solvers/ramsis/worker-problem.ts";
import { smallProblems, variedProblems } from "../../../support/worker-problem.ts";
import { maximum } from "./linear-program.ts";

/** The relaxation as a linear programme over shares of the queries; those that no worker has time for count 0. */
function byLinearProgram(problem: WorkerProblem, mustServeAll: boolean): number | null {
  const sloMs = problem.slackMs[problem.slackMs.length - 1] ?? 0;
  const accuracy: number[] = [];
  const cost: number[] = [];
  for (const variant of problem.candidates) {
    for (let batch = 1; batch <= problem.maxQueue; batch++) {
      const inTime = probabilityInTime(problem, { variant, batch }, sloMs);
      if (inTime === 0) continue;
      accuracy.push(inTime * (problem.accuracy[variant] ?? 0));
      cost.push(meanServiceMs(problem, variant, batch) / batch);
    }
  }
  if (cost.length === 0) return mustServeAll ? null : 0;
  const budget = problem.workerCount / problem.arrivalRatePerMs;
  return maximum(accuracy, [
    {
      coefficients: new Map(cost.map((_, index) => [index, 1])),
      kind: mustServeAll ? "equal" : "at-most",
      bound: 1,
    },
    { coefficients: new Map(cost.entries()), kind: "at-most", bound: budget },
  ]);
}

test("the bound is the optimum of its linear programme", () => {
  let servedCount = 0;
  fc.assert(
    fc.property(fc.oneof(smallProblems, variedProblems), (problem) => {
      const { accuracy } = fluidBound(problem);
      const all = byLinearProgram(problem, true);
      if (all !== null) servedCount++;
      const expected = all ?? byLinearProgram(problem, false) ?? 0;
      expect(Math.abs(accuracy - expected)).toBeLessThan(1e-6);
    }),
    { numRuns: 200, seed: 9 },
  );
  expect(servedCount).toBeGreaterThan(50);
});

test("no policy of a worker exceeds the bound", () => {
  fc.assert(
    fc.property(smallProblems, (problem) => {
      const mdp = buildWorkerMdp(problem, admissibleActions(problem));
      const { accuracyPerQuery } = solvePolicy(mdp, "per-query").guarantees;
      const bound = byLinearProgram(problem, false) ?? Number.NaN;
      expect(accuracyPerQuery).toBeLessThanOrEqual(bound + 1e-7);
    }),
    { numRuns: 60, seed: 10 },
  );
});
