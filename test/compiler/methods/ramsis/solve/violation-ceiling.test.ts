import fc from "fast-check";
import { expect, test } from "vitest";
import {
  evaluatePolicy,
  solvePolicy,
} from "../../../../../compiler/methods/ramsis/solve/objective.ts";
import { solveWithin } from "../../../../../compiler/methods/ramsis/solve/violation-ceiling.ts";
import {
  admissibleActions,
  buildWorkerMdp,
} from "../../../../../compiler/methods/ramsis/solve/worker-mdp.ts";
import { denseMdp } from "../../../../support/dense-ramsis.ts";
import { smallProblems } from "../../../../support/worker-problem.ts";
import { constrainedOptimum, mostSatisfied } from "./linear-program.ts";

/**
 * What GLPK's tolerance of 1e-7 on a row, and a mixture's margin of 1e-9 below its ceiling, are
 * worth at the prices of these problems: under 10 accuracy per violation where the ceiling can move
 * the violation rate by LEAST_RANGE at all.
 */
const TOLERANCE = 1e-6;
const LEAST_RANGE = 1e-3;

test("a policy within a ceiling attains the linear programme's optimum, or a mixture does", () => {
  let mixtureCount = 0;
  fc.assert(
    fc.property(
      smallProblems,
      fc.double({ min: 0.05, max: 0.95, noNaN: true }),
      (problem, part) => {
        const mdp = buildWorkerMdp(problem, admissibleActions(problem));
        const free = solvePolicy(mdp, "per-query").guarantees.violationRate;
        const least = solveWithin(mdp, 0).guarantees.violationRate;
        const ceiling = least + part * (free - least);
        if (free - least < LEAST_RANGE) return;
        const solved = solveWithin(mdp, ceiling);
        const { accuracyPerQuery, violationRate } = solved.guarantees;
        expect(violationRate).toBeLessThanOrEqual(ceiling);
        const optimum = constrainedOptimum(denseMdp(problem), ceiling) ?? Number.NaN;
        expect(Math.abs(accuracyPerQuery - optimum)).toBeLessThan(TOLERANCE);
        if (solved.mixture === null) return;
        mixtureCount++;
        expect(violationRate).toBeGreaterThan(ceiling - 3e-9);
        const { share, choice } = solved.mixture;
        const again = evaluatePolicy(mdp, [
          { share: 1 - share, choice: solved.choice },
          solved.mixture,
        ]);
        expect(again.violationRate).toBeCloseTo(violationRate, 12);
        expect(evaluatePolicy(mdp, [{ share: 1, choice }]).violationRate).toBeGreaterThan(ceiling);
      },
    ),
    { numRuns: 100, seed: 6 },
  );
  expect(mixtureCount).toBeGreaterThan(10);
});

test("where no policy meets the ceiling, the one with the fewest violations is given", () => {
  let missCount = 0;
  fc.assert(
    fc.property(smallProblems, (problem) => {
      const mdp = buildWorkerMdp(problem, admissibleActions(problem));
      const { guarantees, mixture } = solveWithin(mdp, 1e-7);
      if (guarantees.violationRate <= 1e-7) return;
      missCount++;
      expect(mixture).toBeNull();
      const most = mostSatisfied(denseMdp(problem)) ?? Number.NaN;
      expect(Math.abs(guarantees.violationRate - (1 - most))).toBeLessThan(TOLERANCE);
    }),
    { numRuns: 40, seed: 7 },
  );
  expect(missCount).toBeGreaterThan(10);
});

test("a ceiling that the free optimum meets changes nothing", () => {
  fc.assert(
    fc.property(smallProblems, (problem) => {
      const mdp = buildWorkerMdp(problem, admissibleActions(problem));
      const free = solvePolicy(mdp, "per-query");
      const within = solveWithin(mdp, free.guarantees.violationRate + 1e-6);
      expect(within.choice).toEqual(free.choice);
      expect(within.mixture).toBeNull();
    }),
    { numRuns: 40, seed: 8 },
  );
});
