import { describe, expect, it } from "vitest";
import { FeedForward } from "../../../../../compiler/graph/feed-forward.ts";
import type { Configuration } from "../../../../../compiler/graph/served-tasks.ts";
import { Evaluator } from "../../../../../compiler/methods/inferline/solve/evaluator.ts";
import {
  type LowerBounds,
  lowerBoundsOf,
} from "../../../../../compiler/methods/inferline/solve/lower-bounds.ts";
import {
  costOf,
  excessOf,
  hardwareOf,
  type ProvisioningProblem,
  throughputQps,
} from "../../../../../compiler/methods/inferline/solve/problem.ts";
import {
  greedyPlan,
  provision,
} from "../../../../../compiler/methods/inferline/solve/provision.ts";
import { scaleFactorsOf } from "../../../../../compiler/methods/inferline/solve/scale-factors.ts";
import type { RequestTrace } from "../../../../../compiler/simulate/graph/visits.ts";
import { Rng } from "../../../../../runtime/core/rng.ts";
import { casesOf } from "../../../../support/cases.ts";
import { bruteForce, meetsSlo } from "../../../../support/inferline-brute-force.ts";
import {
  fanoutProblem,
  smallProblem,
  threeHardwareProblem,
} from "../../../../support/inferline-problem.ts";
import { naiveGreedy } from "../../../../support/naive-greedy.ts";

const MOST_REPLICAS = 4;
const ENOUGH = 1e9;

function found(problem: ProvisioningProblem, trace: RequestTrace, queryLimit = ENOUGH) {
  const { sloMs } = problem;
  return provision(problem, [trace], { sloMs, refine: "exact", queryLimit });
}

/**
 * Whether a stage has a single action left that meets the SLO for less: one replica fewer, or
 * cheaper hardware with any batch and replicas.
 */
function cheaperByOneAction(
  problem: ProvisioningProblem,
  configuration: Configuration,
  trace: RequestTrace,
): Configuration | undefined {
  const cost = costOf(problem, configuration);
  const others = problem.stages.flatMap(({ hardware }, stage) => {
    const now = configuration[stage];
    if (now === undefined) return [];
    const fewer = { ...now, replicas: now.replicas - 1 };
    const elsewhere = hardware.flatMap(({ batches, price }, index) => {
      const isCheaper = price < (hardware[now.hardware]?.price ?? 0);
      if (!isCheaper) return [];
      const [batch = 1] = batches;
      return [1, 2, 3, 4, 5, 6].map((replicas) => ({ hardware: index, batch, replicas }));
    });
    return [fewer, ...elsewhere]
      .filter(({ replicas }) => replicas > 0)
      .map((one) => configuration.map((other, index) => (index === stage ? one : other)));
  });
  return others.find(
    (one) =>
      costOf(problem, one) < cost &&
      excessOf(problem, one) === 0 &&
      meetsSlo(problem, one, [trace], problem.sloMs),
  );
}

describe("the planner", () => {
  it("finds the cheapest configuration there is, as brute force does", { timeout: 120_000 }, () => {
    let solved = 0;
    let improved = 0;
    for (let seed = 1; seed <= casesOf(40, 3); seed++) {
      const { problem, trace } = smallProblem(seed);
      const all = bruteForce(problem, [trace], problem.sloMs, MOST_REPLICAS);
      const { configuration, greedyCost, lowerBound } = found(problem, trace);
      const cost =
        configuration === null ? Number.POSITIVE_INFINITY : costOf(problem, configuration);
      // What takes more replicas than brute force has tried may be found all the same.
      expect(cost, `seed ${seed}`).toBeLessThanOrEqual(all.cost);
      if (
        configuration === null ||
        configuration.some(({ replicas }) => replicas > MOST_REPLICAS)
      ) {
        continue;
      }
      expect(cost, `seed ${seed}`).toBe(all.cost);
      expect(lowerBound, `seed ${seed}`).toBe(cost);
      expect(meetsSlo(problem, configuration, [trace], problem.sloMs)).toBe(true);
      solved++;
      if (greedyCost === null || greedyCost > cost) improved++;
    }
    expect(solved).toBeGreaterThan(casesOf(20, 3));
    expect(improved).toBeGreaterThanOrEqual(casesOf(4, 3));
  });

  it("does so where rows multiply and are gathered", { timeout: 60_000 }, () => {
    let solved = 0;
    for (let seed = 1; seed <= casesOf(24, 8); seed++) {
      const { problem, trace } = fanoutProblem(seed);
      const all = bruteForce(problem, [trace], problem.sloMs, MOST_REPLICAS);
      const { configuration, lowerBound } = found(problem, trace);
      const cost =
        configuration === null ? Number.POSITIVE_INFINITY : costOf(problem, configuration);
      expect(cost, `seed ${seed}`).toBeLessThanOrEqual(all.cost);
      const estimate = new FeedForward(problem, trace, problem.sloMs);
      const bounds = lowerBoundsOf(problem, problem.sloMs, [estimate]);
      for (const one of all.feasible) expectAbove(bounds, problem, one, seed);
      if (configuration === null || cost < all.cost) continue;
      expect(lowerBound, `seed ${seed}`).toBe(cost);
      expect(meetsSlo(problem, configuration, [trace], problem.sloMs)).toBe(true);
      solved++;
    }
    expect(solved).toBeGreaterThanOrEqual(casesOf(10, 8));
  });

  it("carries its load for ever, however short the trace, at the least cost", () => {
    let dearer = 0;
    for (let seed = 1; seed <= casesOf(24, 12); seed++) {
      const { problem, trace } = smallProblem(seed);
      const scales = scaleFactorsOf(problem, [trace]);
      const loadQps = 2.2 / ((trace.arrivalMs.at(-1) ?? 0) / trace.arrivalMs.length / 1000);
      const carries = (plan: Configuration) =>
        plan.every((one, stage) => {
          const qps = one.replicas * throughputQps(hardwareOf(problem, stage, one), one.batch);
          return qps > loadQps * (scales[stage] ?? 0);
        });
      const all = bruteForce(problem, [trace], problem.sloMs, MOST_REPLICAS);
      const least = Math.min(...all.feasible.filter(carries).map((plan) => costOf(problem, plan)));
      const options = { sloMs: problem.sloMs, loadQps, queryLimit: ENOUGH };
      for (const refine of ["none", "exact"] as const) {
        const { configuration } = provision(problem, [trace], { ...options, refine });
        if (configuration === null) continue;
        expect(carries(configuration), `seed ${seed} ${refine}`).toBe(true);
        if (refine === "none") continue;
        expect(costOf(problem, configuration), `seed ${seed}`).toBeLessThanOrEqual(least);
        if (costOf(problem, configuration) > all.cost) dearer++;
      }
    }
    expect(dearer).toBeGreaterThan(0);
  });

  it("leaves no single action that makes it cheaper, greedy or refined", () => {
    for (let seed = 1; seed <= 40; seed++) {
      const { problem, trace } = smallProblem(seed);
      for (const refine of ["none", "exact"] as const) {
        const options = { sloMs: problem.sloMs, refine, queryLimit: ENOUGH };
        const { configuration } = provision(problem, [trace], options);
        if (configuration === null) continue;
        const left = cheaperByOneAction(problem, configuration, trace);
        expect(left, `seed ${seed} ${refine}`).toBeUndefined();
      }
    }
  });

  it("states a lower bound that holds however early the search is cut short", () => {
    let gaps = 0;
    for (let seed = 1; seed <= 40; seed++) {
      const { problem, trace } = smallProblem(seed);
      const best = found(problem, trace);
      if (best.configuration === null) continue;
      const cost = costOf(problem, best.configuration);
      for (const queryLimit of [0, 1000, 10_000]) {
        const { lowerBound, configuration } = found(problem, trace, queryLimit);
        expect(lowerBound, `seed ${seed}`).toBeLessThanOrEqual(cost);
        if (configuration !== null) {
          expect(meetsSlo(problem, configuration, [trace], problem.sloMs)).toBe(true);
        }
        if (lowerBound < cost) gaps++;
      }
    }
    expect(gaps).toBeGreaterThan(10);
  });

  it("finds the same plan every time, whatever the order of ties", () => {
    for (let seed = 1; seed <= 10; seed++) {
      const { problem, trace } = smallProblem(seed);
      expect(found(problem, trace)).toEqual(found(problem, trace));
    }
  });

  it("meets the SLO on every trace that it is given", () => {
    for (let seed = 1; seed <= 15; seed++) {
      const { problem, trace } = smallProblem(seed);
      const other = { ...trace, arrivalMs: trace.arrivalMs.map((ms) => ms * 0.9) };
      const { sloMs } = problem;
      const options = { sloMs, refine: "exact", queryLimit: ENOUGH } as const;
      const both = provision(problem, [trace, other], options).configuration;
      if (both === null) continue;
      expect(meetsSlo(problem, both, [trace, other], sloMs), `seed ${seed}`).toBe(true);
      const one = found(problem, trace).configuration;
      expect(costOf(problem, both)).toBeGreaterThanOrEqual(one === null ? 0 : costOf(problem, one));
    }
  });
});

describe("the greedy planner", () => {
  it("does what the algorithms say, skipping only what cannot change the result", () => {
    let planned = 0;
    for (let seed = 1; seed <= 30; seed++) {
      const { problem, trace } = smallProblem(seed);
      const literal = naiveGreedy(problem, trace, problem.sloMs);
      const { sloMs } = problem;
      expect(greedyPlan(problem, [trace], { sloMs }), `seed ${seed}`).toEqual(literal);
      if (literal !== null) planned++;
    }
    expect(planned).toBeGreaterThan(15);
  });

  it("tries the next cheaper hardware as printed, and any where that is asked for", () => {
    let others = 0;
    for (let seed = 1; seed <= 40; seed++) {
      const { problem, trace } = threeHardwareProblem(seed);
      const plans = (["next", "any"] as const).map((downgrade) => {
        const { sloMs } = problem;
        const configuration = greedyPlan(problem, [trace], { sloMs, downgrade });
        const literal = naiveGreedy(problem, trace, problem.sloMs, downgrade);
        expect(configuration, `seed ${seed} ${downgrade}`).toEqual(literal);
        return configuration;
      });
      if (JSON.stringify(plans[0]) !== JSON.stringify(plans[1])) others++;
    }
    expect(others).toBeGreaterThan(0);
  });
});

/** @returns how many bounds say more than that there is a replica. */
function expectAbove(
  bounds: LowerBounds,
  problem: ProvisioningProblem,
  configuration: Configuration,
  seed: number,
): number {
  let binding = 0;
  for (const [stage, { hardware, batch, replicas }] of configuration.entries()) {
    const batches = problem.stages[stage]?.hardware[hardware]?.batches ?? [];
    const least = bounds.replicas[stage]?.[hardware]?.[batches.indexOf(batch)] ?? Number.NaN;
    expect(replicas, `seed ${seed}`).toBeGreaterThanOrEqual(least);
    if (least > 1) binding++;
  }
  return binding;
}

describe("lower bounds", () => {
  it("are never above what a feasible configuration has", { timeout: 60_000 }, () => {
    let binding = 0;
    for (let seed = 1; seed <= casesOf(20, 3); seed++) {
      const { problem, trace } = smallProblem(seed);
      const estimate = new FeedForward(problem, trace, problem.sloMs);
      const bounds = lowerBoundsOf(problem, problem.sloMs, [estimate]);
      const { feasible } = bruteForce(problem, [trace], problem.sloMs, MOST_REPLICAS);
      for (const configuration of feasible) {
        binding += expectAbove(bounds, problem, configuration, seed);
      }
    }
    expect(binding).toBeGreaterThan(20);
  });
});

describe("the evaluator", () => {
  it("says of any sequence of configurations what an estimator says that has seen none", () => {
    let feasible = 0;
    let total = 0;
    for (let seed = 1; seed <= 12; seed++) {
      const { problem, trace } = smallProblem(seed);
      const evaluator = new Evaluator(problem, [new FeedForward(problem, trace, problem.sloMs)]);
      const rng = new Rng(seed, 1);
      for (let step = 0; step < 150; step++) {
        const configuration = problem.stages.map(({ hardware }) => {
          const index = Math.floor(hardware.length * rng.nextFloat());
          const batches = hardware[index]?.batches ?? [1];
          const batch = batches[Math.floor(batches.length * rng.nextFloat())] ?? 1;
          return { hardware: index, batch, replicas: 1 + Math.floor(3 * rng.nextFloat()) };
        });
        const expected = meetsSlo(problem, configuration, [trace], problem.sloMs);
        expect(evaluator.isFeasible(configuration), `seed ${seed}`).toBe(expected);
        total++;
        if (expected) feasible++;
      }
    }
    expect(feasible).toBeGreaterThan(50);
    expect(feasible).toBeLessThan(total - 50);
  });
});
