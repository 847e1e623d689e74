import { describe, expect, it } from "vitest";
import { ExactScaler } from "../../../../../compiler/methods/themis/solve/exact.ts";
import { packedPlan } from "../../../../../compiler/methods/themis/solve/packed-plan.ts";
import { ThemisPlanner } from "../../../../../compiler/methods/themis/solve/planner.ts";
import type {
  ScalingProblem,
  TaskScale,
} from "../../../../../compiler/methods/themis/solve/problem.ts";
import { leastInstances } from "../../../../../compiler/methods/themis/solve/task-options.ts";
import { MachineFit } from "../../../../../runtime/methods/themis/core/machine-fit.ts";
import { themisBundle } from "../../../../support/themis-bundle.ts";
import { endToEndMs } from "../../../../support/themis-check.ts";
import { randomScaling } from "../../../../support/themis-random.ts";

function machinesOf(workers: number, cores: number): MachineFit {
  return new MachineFit(themisBundle({ workers, cores }));
}

function fits(machines: MachineFit, stages: readonly TaskScale[]): boolean {
  machines.clear();
  for (const { instances, cores } of stages) machines.add(instances, cores);
  return machines.fits();
}

/** The fewest cores of all combinations that meet the SLO and fit; Infinity for none. */
function fewestCores(problem: ScalingProblem, machines: MachineFit): number {
  let fewest = Number.POSITIVE_INFINITY;
  const choose = (at: number, chosen: readonly TaskScale[], cores: number): void => {
    if (cores >= fewest) return;
    const stage = problem.stages[at];
    if (stage === undefined) {
      const isWithin = endToEndMs(problem, chosen) <= problem.sloMs * (1 + 1e-12);
      if (isWithin && fits(machines, chosen)) fewest = cores;
      return;
    }
    for (let each = 1; each <= stage.maxCores; each++) {
      for (let batch = 1; batch <= stage.maxBatch; batch++) {
        const ms = stage.latencyMs[(each - 1) * stage.maxBatch + batch - 1] ?? Number.NaN;
        if (!(ms < Number.POSITIVE_INFINITY)) continue;
        const instances = leastInstances((1000 * batch) / ms, problem.loadQps * stage.scale);
        choose(at + 1, [...chosen, { batch, cores: each, instances }], cores + instances * each);
      }
    }
  };
  choose(0, [], 0);
  return fewest;
}

describe("a plan that has to fit into machines", () => {
  it("has the fewest cores of all that do, as brute force says", () => {
    let dearer = 0;
    let none = 0;
    for (let seed = 1; seed <= 400; seed++) {
      const { problem } = randomScaling(seed, seed % 3 === 0 ? "graph" : "chain", {
        stages: 3,
        maxBatch: 3,
        maxCores: 5,
      });
      const scaler = new ExactScaler(problem);
      const first = scaler.find(problem.loadQps, { kind: "joint" });
      if (first === null) continue;
      // About as many cores as the plan takes, in machines that not everything fits into.
      const cores = Math.max(2, ...first.stages.map((stage) => stage.cores));
      const count = Math.max(1, Math.floor(first.cores / cores) + (seed % 3));
      const machines = machinesOf(count, cores);
      const found = packedPlan(first, {
        mode: { kind: "joint" },
        mostCost: machines.machines * cores,
        fits: ({ stages }) => fits(machines, stages),
        find: (mode) => scaler.find(problem.loadQps, mode),
      });
      const expected = fewestCores(problem, machines);
      expect(found?.cores ?? Number.POSITIVE_INFINITY, `seed ${seed}`).toBe(expected);
      if (found === null) none++;
      else if (found.cores > first.cores) dearer++;
    }
    expect(dearer).toBeGreaterThan(0);
    expect(none).toBeGreaterThan(0);
  });

  it("is what the planner gives for a pool whose machines say their cores", () => {
    // Instances of two cores serve most for their cores; a machine of three has room for one.
    const latencyMs = [[30], [12], [11]];
    const sketch = { tasks: [{ name: "only", latencyMs }], sloMs: 40, workers: 3, cores: 3 };
    const {
      levels: _,
      transitions: __,
      provenance: ___,
      ...frame
    } = themisBundle({
      ...sketch,
      levels: [{ loadQps: 1, steady: [[1, 1, 1]] }],
    });
    const planner = new ThemisPlanner({ ...frame, policy: { ...frame.policy, queueing: "paper" } });
    const plan = planner.find(240, { kind: "joint" }, null);
    expect(plan?.stages).toEqual([{ batch: 1, cores: 2, instances: 3 }]);
    // 300 per second would take four of them, of eight cores; nine of one core fit.
    const more = planner.find(300, { kind: "joint" }, null);
    expect(more?.stages).toEqual([{ batch: 1, cores: 1, instances: 9 }]);
    const sized = { kind: "sized", cores: [2] } as const;
    expect(planner.find(300, sized, null)).toBeNull();
  });
});
