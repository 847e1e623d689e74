import { costOf, excessOf } from "stratagem/internal/methods/inferline/solve/problem";
import { provision } from "stratagem/internal/methods/inferline/solve/provision";
import { describe, expect, it } from "vitest";
import { FeedForward } from "../../../../../compiler/graph/feed-forward.ts";
import type { Configuration } from "../../../../../compiler/graph/served-tasks.ts";
import type { ProvisioningProblem } from "../../../../../compiler/methods/inferline/solve/problem.ts";
import type { RequestTrace } from "../../../../../compiler/simulate/graph/visits.ts";
import { casesOf } from "../../../../support/cases.ts";
import { bruteForce } from "../../../../support/inferline-brute-force.ts";
import { smallProblem } from "../../../../support/inferline-problem.ts";

const MOST_REPLICAS = 4;

function latencyOf(
  problem: ProvisioningProblem,
  configuration: Configuration,
  trace: RequestTrace,
): { readonly percentileMs: number; readonly p50Ms: number } {
  const estimate = new FeedForward(problem, trace, problem.sloMs);
  for (const [stage, one] of configuration.entries()) {
    estimate.prepare(stage);
    estimate.serve(stage, one, Number.POSITIVE_INFINITY);
  }
  return { percentileMs: estimate.percentileMs(), p50Ms: estimate.medianMs() };
}

describe("plans that cost the same", () => {
  it("give way to the one with the lowest percentile, as brute force finds", () => {
    let solved = 0;
    let least = 0;
    for (let seed = 1; seed <= casesOf(40, 6); seed++) {
      const { problem, trace } = smallProblem(seed);
      const { sloMs } = problem;
      const all = bruteForce(problem, [trace], sloMs, MOST_REPLICAS);
      const options = { sloMs, refine: "exact", queryLimit: 1e9 } as const;
      const { configuration } = provision(problem, [trace], options);
      if (configuration === null || costOf(problem, configuration) !== all.cost) continue;
      solved++;
      const tied = all.feasible.filter((one) => costOf(problem, one) === all.cost);
      const best = Math.min(...tied.map((one) => latencyOf(problem, one, trace).percentileMs));
      if (latencyOf(problem, configuration, trace).percentileMs <= best + 1e-9) least++;
    }
    expect(solved).toBeGreaterThan(0);
    // Two tasks at once may end where three would go on.
    expect(least).toBeGreaterThanOrEqual(0.95 * solved);
  });

  it("are compared after greedy too, at its cost and within the pools", () => {
    for (let seed = 1; seed <= casesOf(40, 6); seed++) {
      const { problem, trace } = smallProblem(seed);
      const { sloMs } = problem;
      const options = { sloMs, refine: "none", queryLimit: 1e9 } as const;
      const { configuration, greedyCost } = provision(problem, [trace], options);
      if (configuration === null) continue;
      expect(costOf(problem, configuration)).toBeLessThanOrEqual(greedyCost ?? 0);
      expect(excessOf(problem, configuration)).toBe(0);
      const own = latencyOf(problem, configuration, trace);
      for (const [stage, one] of configuration.entries()) {
        for (const batch of problem.stages[stage]?.hardware[one.hardware]?.batches ?? []) {
          const other = configuration.with(stage, { ...one, batch });
          const { percentileMs } = latencyOf(problem, other, trace);
          expect(percentileMs, `seed ${seed}`).toBeGreaterThanOrEqual(own.percentileMs);
        }
      }
    }
  });
});
