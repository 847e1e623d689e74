/** An exact search that several machines have divided is the search of one, to the last count. */
import { describe, expect, test } from "vitest";
import {
  planWithLeastMargin,
  planWithMargin,
} from "../../../../../compiler/methods/inferline/solve/margin.ts";
import type { ProvisioningProblem } from "../../../../../compiler/methods/inferline/solve/problem.ts";
import {
  ALL_BRANCHES,
  type FoundBranch,
  type RootBranches,
  rootBranches,
} from "../../../../../compiler/model/root-branches.ts";
import { nextMeasuredTimes } from "../../../../../compiler/model/service-time.ts";
import { drawRequests } from "../../../../../compiler/simulate/graph/drawn-requests.ts";
import { taskGraphOf } from "../../../../../runtime/core/graph/task-graph.ts";
import { Rng } from "../../../../../runtime/core/rng.ts";

const BATCHES = [1, 2, 4];
const SEEDS = [3, 8, 16, 34];
/** That of those with the most branches. */
const HARD = 34;

/** Three tasks on two kinds of hardware, drawn by a seed. */
function problemOf(seed: number): ProvisioningProblem {
  const rng = new Rng(seed, 9);
  const between = (low: number, high: number) => low + (high - low) * rng.nextFloat();
  const stages = ["a", "b", "c"].map((name) => {
    const cardMs = between(3, 25);
    const kinds = [
      { price: 66_500, aloneMs: cardMs * between(2, 8), slope: between(0.7, 1) },
      { price: 200_500, aloneMs: cardMs, slope: between(0.1, 0.5) },
    ];
    const hardware = kinds.map(({ price, aloneMs, slope }, pool) => {
      const rows = BATCHES.map((batch) => ({ batch, ms: aloneMs * (1 + slope * (batch - 1)) }));
      return { variant: 0, pool, price, batches: BATCHES, batchMs: nextMeasuredTimes(rows) };
    });
    return { name, hardware };
  });
  const graph = taskGraphOf({
    entryBranch: "independent",
    tasks: stages.map((_, index) => ({
      branch: "independent",
      edges: [{ parent: index === 0 ? null : index - 1, share: 1, feed: null }],
    })),
  });
  const sloMs = between(120, 300);
  return { graph, stages, workersByPool: [60, 60], sloMs, hopMs: 0, violationCeiling: 0.02 };
}

type Plan = (branches: RootBranches | undefined, queryLimit?: number) => unknown;

function plansOf(seed: number): Readonly<Record<"fixed" | "least", Plan>> {
  const problem = problemOf(seed);
  const arrivals = { kind: "gamma", qps: 60, cv2: seed % 2 === 0 ? 3 : 1 } as const;
  const traces = (first: number, count: number) =>
    Array.from({ length: count }, (_, at) =>
      drawRequests(problem.graph, arrivals, 4000, first + at),
    );
  const [samples, calibration] = [traces(seed, 1), traces(1000 * seed, 20)];
  const options = (branches: RootBranches | undefined, queryLimit = 1e9) => {
    return { refine: "exact", queryLimit, branches } as const;
  };
  return {
    fixed: (...asked) => planWithMargin(problem, samples, 0.1, options(...asked)),
    least: (...asked) => planWithLeastMargin(problem, samples, calibration, options(...asked)),
  };
}

function searchedBy(plan: Plan, number: number, of: number, queryLimit?: number): FoundBranch[] {
  const found: FoundBranch[] = [];
  const share = { number, of };
  plan(
    rootBranches({ share, known: [] }, (branch) => found.push(branch)),
    queryLimit,
  );
  return found;
}

/** As it goes through a part, and how many branches are left to search. */
function merged(plan: Plan, known: readonly FoundBranch[], queryLimit?: number) {
  let here = 0;
  const carried: FoundBranch[] = structuredClone([...known]);
  const branches = rootBranches({ share: ALL_BRANCHES, known: carried }, () => {
    here++;
  });
  return { plan: plan(branches, queryLimit), here, isPart: branches.isPart };
}

const numbersTo = (of: number) => Array.from({ length: of }, (_, index) => index + 1);

describe.each(["fixed", "least"] as const)("a search with a %s margin", (kind) => {
  test("is the same in 1, 3 and 7 parts, its counts and its proof with it", () => {
    const branchesBySeed = SEEDS.map((seed) => {
      const plan = plansOf(seed)[kind];
      const alone = plan(undefined);
      for (const of of [1, 3, 7]) {
        const known = numbersTo(of).flatMap((number) => searchedBy(plan, number, of));
        expect(merged(plan, known).plan).toEqual(alone);
        // In whatever order parts are read.
        expect(merged(plan, known.toReversed()).plan).toEqual(alone);
      }
      const own = searchedBy(plan, 1, 1);
      expect(merged(plan, own)).toEqual({ plan: alone, here: 0, isPart: false });
      return own.length;
    });
    // There is something to divide.
    expect(Math.max(...branchesBySeed)).toBeGreaterThan(3);
  });

  test("is the same where parts are lost: what they had is searched again", () => {
    const plan = plansOf(HARD)[kind];
    const known = searchedBy(plan, 2, 3);
    const found = merged(plan, known);
    expect(found.plan).toEqual(plan(undefined));
    expect(found.here).toBeGreaterThan(0);
  });

  test("is the same where its limit cuts it, wherever that is", () => {
    const plan = plansOf(HARD)[kind];
    for (const limit of [0, 1000, 5000, 20_000, 50_000, 100_000, 300_000]) {
      const known = numbersTo(3).flatMap((number) => searchedBy(plan, number, 3, limit));
      expect(merged(plan, known, limit).plan).toEqual(plan(undefined, limit));
    }
  });
});

test("who leaves a branch out says that its level is a part", () => {
  const plan = plansOf(HARD).fixed;
  const part = rootBranches({ share: { number: 1, of: 3 }, known: [] }, () => {});
  plan(part);
  expect(part.isPart).toBe(true);
});
