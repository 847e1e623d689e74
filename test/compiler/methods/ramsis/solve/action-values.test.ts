import fc from "fast-check";
import { expect, test } from "vitest";
import { actionValues } from "../../../../../compiler/methods/ramsis/solve/action-values.ts";
import {
  guaranteesOf,
  idleDistribution,
  stationaryDistribution,
} from "../../../../../compiler/methods/ramsis/solve/guarantees.ts";
import { pure, solvePolicy } from "../../../../../compiler/methods/ramsis/solve/objective.ts";
import { ramsis } from "../../../../../compiler/methods/ramsis/solve/ramsis.ts";
import {
  admissibleActions,
  buildWorkerMdp,
  type WorkerMdp,
} from "../../../../../compiler/methods/ramsis/solve/worker-mdp.ts";
import type { Action } from "../../../../../compiler/methods/ramsis/solve/worker-problem.ts";
import type { RamsisBundle, RamsisLevel } from "../../../../../runtime/bundle/schema.ts";
import { tinyBundle } from "../../../../support/tiny-bundle.ts";
import {
  smallProblems,
  variedProblems,
  workerProblem,
} from "../../../../support/worker-problem.ts";

const objectives = ["per-query", "per-decision"] as const;

const actionAt = ({ actionVariant, actionBatch }: WorkerMdp, action: number): Action => ({
  variant: actionVariant[action] ?? 0,
  batch: actionBatch[action] ?? 0,
});

/** Steady state of a policy, and what it earns per query and per decision. */
function steady(mdp: WorkerMdp, choice: Uint32Array) {
  const policy = pure(choice);
  const { mass } = stationaryDistribution(mdp, policy, idleDistribution(mdp), 1e-14, 100_000);
  const { accuracyPerQuery, meanBatch } = guaranteesOf(mdp, policy, mass);
  const perDecision = mass.reduce(
    (sum, weight, state) => sum + weight * (mdp.actionAccuracy[choice[state] ?? 0] ?? 0),
    0,
  );
  return { mass, accuracyPerQuery, meanBatch, perDecision };
}

test.each(objectives)(
  "in the optimal table of the objective %s no action is worth more than the table's",
  (objective) => {
    const problems = fc.oneof(smallProblems, variedProblems);
    fc.assert(
      fc.property(problems, fc.nat(), (problem, draw) => {
        const mdp = buildWorkerMdp(problem, admissibleActions(problem));
        const { choice } = solvePolicy(mdp, objective);
        const actionOf = (state: number) => actionAt(mdp, choice[state] ?? 0);
        const state = draw % mdp.stateCount;
        const values = actionValues(
          problem,
          { objective, maxViolationRate: null, latencyPrice: 0, actionOf },
          state,
        );
        if ("reason" in values) return;
        const chosen = values.actions.find(
          ({ variant, batch }) =>
            variant === actionOf(state).variant && batch === actionOf(state).batch,
        );
        expect(chosen?.advantage).toBeGreaterThan(-1e-6);
        expect(values.actions[0]?.advantage).toBe(0);
        expect(values.actions).toHaveLength(
          (mdp.actionStart[state + 1] ?? 0) - (mdp.actionStart[state] ?? 0),
        );
      }),
      { numRuns: 100 },
    );
  },
);

// S. Kakade and J. Langford, "Approximately Optimal Approximate Reinforcement Learning", 2002,
// lemma 6.1, for the average reward.
test.each(objectives)(
  "a policy that does otherwise in one state gains the advantage as often as it is there: %s",
  (objective) => {
    fc.assert(
      fc.property(variedProblems, fc.nat(), (problem, draw) => {
        const mdp = buildWorkerMdp(problem, admissibleActions(problem));
        const first = mdp.actionStart.slice(0, mdp.stateCount);
        const before = steady(mdp, first);
        const visited = [...mdp.reached].filter((state) => (before.mass[state] ?? 0) > 1e-3);
        const state = visited[draw % visited.length] ?? 0;
        const actionOf = (at: number) => actionAt(mdp, first[at] ?? 0);
        const values = actionValues(
          problem,
          { objective, maxViolationRate: null, latencyPrice: 0, actionOf },
          state,
        );
        if ("reason" in values) throw new Error(values.reason);
        const advantageOf = (action: number): number => {
          const { variant, batch } = actionAt(mdp, action);
          const found = values.actions.find((v) => v.variant === variant && v.batch === batch);
          return found?.advantage ?? Number.NaN;
        };
        for (let a = first[state] ?? 0; a < (mdp.actionStart[state + 1] ?? 0); a++) {
          const changed = first.slice();
          changed[state] = a;
          const after = steady(mdp, changed);
          const gain =
            objective === "per-query"
              ? after.meanBatch * (after.accuracyPerQuery - before.accuracyPerQuery)
              : after.perDecision - before.perDecision;
          const advantage = advantageOf(a) - advantageOf(first[state] ?? 0);
          expect(Math.abs(gain - (after.mass[state] ?? 0) * advantage)).toBeLessThan(1e-7);
        }
      }),
      { numRuns: 60 },
    );
  },
);

const problem = workerProblem({
  workerCount: 1,
  loadQps: 20,
  sloMs: 100,
  steps: 10,
  maxQueue: 3,
  accuracy: [0.6, 0.8],
  serviceMs: [
    [15, 20, 25, 30],
    [40, 60, 80, 100],
  ],
});
const onFirst = {
  objective: "per-query",
  maxViolationRate: null,
  latencyPrice: 0,
  actionOf: (state: number): Action => ({ variant: 0, batch: Math.floor(state / 11) + 1 }),
} as const;
const onSecond = (state: number): Action => ({ variant: 1, batch: Math.floor(state / 11) + 1 });

test("a table that is not optimal is evaluated as it is, beside the best action", () => {
  const values = actionValues(problem, onFirst, 10);
  expect(values).toMatchObject({
    unit: "queries",
    actions: [
      { variant: 1, batch: 1, advantage: 0 },
      { variant: 0, batch: 1, advantage: expect.any(Number) },
    ],
  });
  // Late queries cost the fast variant's accuracy, so the gain is below the difference of the two.
  if ("reason" in values) return;
  expect(values.actions[1]?.advantage).toBeGreaterThan(-0.2);
  expect(values.actions[1]?.advantage).toBeLessThan(-0.1);
});

test("an action of the table that is not admissible is compared all the same", () => {
  const always = { ...onFirst, actionOf: onSecond };
  const values = actionValues(problem, always, 1);
  expect(values).toMatchObject({
    actions: [
      { variant: 0, batch: 1, advantage: 0 },
      { variant: 1, batch: 1 },
    ],
  });
});

const bundle = tinyBundle({ loadsQps: [20] });
const [level] = bundle.levels;
const valuesOf = (
  change: Partial<RamsisBundle>,
  mixture: RamsisLevel["mixture"],
  queued = 1,
  slackMs = 100,
) => {
  if (level === undefined) throw new RangeError("the bundle has a level");
  return ramsis.actionValues({ ...bundle, ...change }, { ...level, mixture }, queued, slackMs);
};

test("a state is looked up as the runtime does, its slack rounded down and its queue cut", () => {
  expect(valuesOf({}, null, 1, 99.9)).toEqual(valuesOf({}, null, 1, 90));
  const full = { unit: "queries", actions: [{ variant: 0, batch: 4, advantage: 0 }] };
  expect(valuesOf({}, null, 4, 100)).toEqual(full);
  expect(valuesOf({}, null, 900, -3)).toEqual(full);
});

test("says why there are no values", () => {
  const { slo, policy } = bundle;
  const ceiling = (maxViolationRate: number) => ({ slo: { ...slo, maxViolationRate } });
  const perDecision = { policy: { ...policy, objective: "per-decision" } } as const;
  const reason = (pattern: RegExp) => ({ reason: expect.stringMatching(pattern) });
  const values = { actions: expect.anything() };
  expect(valuesOf(ceiling(1e-9), null)).toEqual(reason(/ceiling/));
  expect(valuesOf(ceiling(0.99), null)).toMatchObject(values);
  expect(valuesOf({ ...ceiling(1e-9), ...perDecision }, null)).toMatchObject(values);
  const pooled = { policy: { ...policy, balancer: "pooled" } } as const;
  expect(valuesOf(pooled, null)).toEqual(reason(/finds another table/));
  const mixture = {
    share: 0.5,
    actionByState: bundle.levels[0]?.actionByState,
  } as RamsisLevel["mixture"];
  expect(valuesOf({}, mixture)).toEqual(reason(/two tables/));
});
