import fc from "fast-check";
import { expect, test } from "vitest";
import {
  evaluatePolicy,
  pure,
  solvePolicy,
} from "../../../../../compiler/methods/ramsis/solve/objective.ts";
import {
  admissibleActions,
  buildWorkerMdp,
  NO_ROW,
  type WorkerMdp,
} from "../../../../../compiler/methods/ramsis/solve/worker-mdp.ts";
import type { WorkerProblem } from "../../../../../compiler/methods/ramsis/solve/worker-problem.ts";
import { casesOf } from "../../../../support/cases.ts";
import {
  denseMdp,
  denseOutcome,
  densePolicy,
  gainPerCycle,
} from "../../../../support/dense-ramsis.ts";
import {
  smallProblems,
  variedProblems,
  workerProblem,
} from "../../../../support/worker-problem.ts";

const build = (problem: WorkerProblem) => buildWorkerMdp(problem, admissibleActions(problem));

/** Distribution of the next state after an action, from the sparse rows. */
function nextOf(mdp: WorkerMdp, state: number, action: number): Float64Array {
  const next = new Float64Array(mdp.stateCount);
  const addRow = (row: number, weight: number): void => {
    const end = mdp.transitions.start[row + 1] ?? 0;
    for (let entry = mdp.transitions.start[row] ?? 0; entry < end; entry++) {
      const column = mdp.transitions.column[entry] ?? 0;
      next[column] = (next[column] ?? 0) + weight * (mdp.transitions.probability[entry] ?? 0);
    }
  };
  const row = mdp.actionRow[action] ?? 0;
  if (row >= mdp.directStart) addRow(row, 1);
  else {
    for (let q = 0; q < mdp.phaseCount; q++) {
      addRow(row + q, mdp.phaseWeight[state * mdp.phaseCount + q] ?? 0);
    }
  }
  return next;
}

test.each([
  ["of the paper's problem", smallProblems, casesOf(60, 3)],
  [
    "with random service times, bursts, parts of the queue and other balancers",
    variedProblems,
    casesOf(150, 3),
  ],
] as const)(
  "every transition probability %s is the one of its equation",
  (_, problems, numRuns) => {
    fc.assert(
      fc.property(problems, (problem) => {
        const mdp = build(problem);
        const dense = denseMdp(problem);
        for (let state = 0; state < mdp.stateCount; state++) {
          const from = mdp.actionStart[state] ?? 0;
          expect((mdp.actionStart[state + 1] ?? 0) - from).toBe(dense.actions[state]?.length);
          dense.actions[state]?.forEach((expected, index) => {
            const a = from + index;
            expect(mdp.actionVariant[a]).toBe(expected.variant);
            expect(mdp.actionBatch[a]).toBe(expected.batch);
            if (mdp.actionRow[a] === NO_ROW) return;
            nextOf(mdp, state, a).forEach((p, to) => {
              expect(Math.abs(p - (expected.next[to] ?? Number.NaN))).toBeLessThan(1e-12);
            });
          });
        }
      }),
      { numRuns, seed: 1 },
    );
  },
);

test("every row of the transitions sums to 1 within 1e-12", () => {
  fc.assert(
    fc.property(fc.oneof(smallProblems, variedProblems), (problem) => {
      const { transitions } = build(problem);
      for (let row = 0; row < transitions.rowCount; row++) {
        const entries = transitions.probability.subarray(
          transitions.start[row],
          transitions.start[row + 1],
        );
        expect(Math.abs(entries.reduce((a, b) => a + b, 0) - 1)).toBeLessThan(1e-12);
      }
    }),
    { numRuns: casesOf(300, 3), seed: 2 },
  );
});

test.each(["per-decision", "per-query"] as const)(
  "a %s policy attains what dense policy iteration attains",
  (objective) => {
    fc.assert(
      fc.property(fc.oneof(smallProblems, variedProblems), (problem) => {
        const dense = denseMdp(problem);
        const best = denseOutcome(dense, densePolicy(dense, objective));
        const mdp = build(problem);
        const { choice } = solvePolicy(mdp, objective);
        const chosen = denseOutcome(
          dense,
          [...choice].map((action, state) => action - (mdp.actionStart[state] ?? 0)),
        );
        // The stopping rule promises a gain within 1e-10 of the optimum per decision; a decision
        // serves at least one query.
        const worth = objective === "per-query" ? "accuracyPerQuery" : "perDecision";
        expect(Math.abs(chosen[worth] - best[worth])).toBeLessThan(1e-9);
      }),
      { numRuns: casesOf(60, 2), seed: 3 },
    );
  },
);

test("Gauss–Seidel sweeps over one cycle gain nothing beyond the per-query optimum", () => {
  let settledCount = 0;
  fc.assert(
    fc.property(fc.oneof(smallProblems, variedProblems), (problem) => {
      const mdp = build(problem);
      const { accuracyPerQuery } = solvePolicy(mdp, "per-query").guarantees;
      const dense = denseMdp(problem);
      const gain = gainPerCycle(dense, mdp.idleState, accuracyPerQuery, 2000);
      if (gain === null) return;
      settledCount++;
      // A cycle serves a few hundred queries at most, each with the solver's error of 1e-10.
      expect(Math.abs(gain)).toBeLessThan(1e-7);
      const less = gainPerCycle(dense, mdp.idleState, accuracyPerQuery - 1e-3, 2000);
      if (less !== null) expect(less).toBeGreaterThan(9e-4);
    }),
    { numRuns: 60, seed: 13 },
  );
  expect(settledCount).toBeGreaterThan(30);
});

test("the guarantees of a policy are those of its dense chain", () => {
  fc.assert(
    fc.property(smallProblems, (problem) => {
      const dense = denseMdp(problem);
      const mdp = build(problem);
      const { choice, guarantees } = solvePolicy(mdp, "per-query");
      const expected = denseOutcome(
        dense,
        [...choice].map((action, state) => action - (mdp.actionStart[state] ?? 0)),
      );
      expect(Math.abs(guarantees.violationRate - expected.violationRate)).toBeLessThan(1e-9);
      expect(Math.abs(guarantees.accuracyPerQuery - expected.accuracyPerQuery)).toBeLessThan(1e-9);
      const again = evaluatePolicy(mdp, pure(choice));
      expect(again.violationRate).toBeCloseTo(guarantees.violationRate, 12);
      expect(again.accuracyPerQuery).toBeCloseTo(guarantees.accuracyPerQuery, 12);
    }),
    { numRuns: casesOf(40, 2), seed: 4 },
  );
});

const TWO_VARIANTS = {
  workerCount: 3,
  loadQps: 60,
  sloMs: 100,
  steps: 20,
  maxQueue: 4,
  accuracy: [0.6, 0.9],
  serviceMs: [
    [10, 14, 18, 22, 26],
    [45, 60, 75, 90, 105],
  ],
} as const;

test("the policy does not depend on the unit of time", () => {
  const seconds = workerProblem({
    ...TWO_VARIANTS,
    loadQps: TWO_VARIANTS.loadQps * 1000,
    sloMs: TWO_VARIANTS.sloMs / 1000,
    serviceMs: TWO_VARIANTS.serviceMs.map((row) => row.map((ms) => ms / 1000)),
  });
  const inMs = solvePolicy(build(workerProblem(TWO_VARIANTS)), "per-query");
  const inSeconds = solvePolicy(build(seconds), "per-query");
  expect(inSeconds.choice).toEqual(inMs.choice);
  expect(inSeconds.guarantees.accuracyPerQuery).toBeCloseTo(inMs.guarantees.accuracyPerQuery, 12);
});

test("far beyond capacity every query is late, and the figures stay finite", () => {
  const problem = workerProblem({ ...TWO_VARIANTS, loadQps: 1e6 });
  const { guarantees } = solvePolicy(build(problem), "per-query");
  expect(guarantees).toMatchObject({ accuracyPerQuery: 0, violationRate: 1, meanBatch: 5 });
});

test("more load never raises what a query can expect", () => {
  const accuracyAt = (loadQps: number): number =>
    solvePolicy(build(workerProblem({ ...TWO_VARIANTS, loadQps })), "per-query").guarantees
      .accuracyPerQuery;
  const accuracies = [20, 40, 60, 80, 120, 200].map(accuracyAt);
  expect(accuracies).toEqual([...accuracies].sort((a, b) => b - a));
  expect(accuracies[0]).toBeGreaterThan((accuracies[5] ?? 1) + 0.05);
});

test("the per-query objective is at least as good per query as the per-decision objective", () => {
  fc.assert(
    fc.property(smallProblems, (problem) => {
      const mdp = build(problem);
      const perQuery = solvePolicy(mdp, "per-query").guarantees.accuracyPerQuery;
      const perDecision = solvePolicy(mdp, "per-decision").guarantees.accuracyPerQuery;
      expect(perQuery).toBeGreaterThanOrEqual(perDecision - 1e-9);
    }),
    { numRuns: casesOf(100, 2), seed: 5 },
  );
});
