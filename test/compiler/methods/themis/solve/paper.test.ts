import { AssertionError } from "node:assert";
import { describe, expect, it } from "vitest";
import { planWithExtras } from "../../../../../compiler/methods/themis/solve/extras.ts";
import {
  type PaperMode,
  solveAsPaper,
} from "../../../../../compiler/methods/themis/solve/paper.ts";
import {
  isPlan,
  type NoScalingPlan,
  type ScalingPlan,
  type ScalingProblem,
  type ScalingTask,
} from "../../../../../compiler/methods/themis/solve/problem.ts";
import { faultsOf } from "../../../../support/themis-check.ts";
import { solveExactly } from "../../../../support/themis-exact.ts";
import { randomScaling } from "../../../../support/themis-random.ts";

const CHAIN = { stages: 4, maxBatch: 8, maxCores: 6 };

function coresOf(answer: ScalingPlan | NoScalingPlan): number {
  return isPlan(answer) ? answer.cores : Number.POSITIVE_INFINITY;
}

describe("the paper's programmes", () => {
  it("cost at least the exact plan, and at most the exact one with 1 ms less", () => {
    const tally = { cases: 0, feasible: 0, dearer: 0 };
    for (let seed = 400_001; seed <= 400_160; seed++) {
      const { problem, modes } = randomScaling(seed, "chain", CHAIN);
      for (const mode of modes) {
        if (mode.kind === "joint") continue;
        const answer = solveAsPaper(problem, mode);
        const name = `seed ${seed}, ${mode.kind}`;
        if (isPlan(answer)) expect(faultsOf(problem, mode, answer), name).toEqual([]);
        const exact = solveExactly(problem, mode);
        const looser = { ...problem, sloMs: problem.sloMs + problem.stages.length };
        const tighter = { ...problem, sloMs: Math.floor(problem.sloMs) - problem.stages.length };
        const most = tighter.sloMs > 0 ? coresOf(solveExactly(tighter, mode)) : Infinity;
        const cores = coresOf(answer);
        expect(coresOf(solveExactly(looser, mode)), name).toBeLessThanOrEqual(coresOf(exact));
        expect(coresOf(exact), name).toBeLessThanOrEqual(cores);
        expect(cores, name).toBeLessThanOrEqual(most);
        tally.cases++;
        if (isPlan(answer)) tally.feasible++;
        if (cores > coresOf(exact)) tally.dearer++;
      }
    }
    expect(tally.cases).toBe(800);
    expect(tally.feasible).toBeGreaterThan(300);
    expect(tally.dearer).toBeGreaterThan(0);
  });

  it("take of options of as many cores and whole milliseconds the smaller batch", () => {
    // A pair takes 98.5 ms, and 1 ms for the second to come: less than 99.8 ms, but as many whole
    // ones.
    const latencyMs = Float64Array.of(99.8, 98.5);
    const stage = { parents: [], scale: 1, maxBatch: 2, maxCores: 1, latencyMs };
    const problem = { loadQps: 1000, sloMs: 100, hopMs: 0, stages: [stage] };
    const mode = { kind: "vertical", instances: [200] } as const;
    expect(solveAsPaper(problem, mode)).toMatchObject({ latencyMs: 99.8, stages: [{ batch: 1 }] });
    expect(solveExactly(problem, mode)).toMatchObject({ latencyMs: 99.5, stages: [{ batch: 2 }] });
  });

  it("refuse graphs that are not chains, and a load of 0", () => {
    const stage: ScalingTask = {
      parents: [],
      scale: 1,
      maxBatch: 1,
      maxCores: 1,
      latencyMs: Float64Array.of(10),
    };
    const mode = { kind: "horizontal" } as const;
    const fork = [stage, { ...stage, parents: [0] }, { ...stage, parents: [0] }];
    const problem: ScalingProblem = { loadQps: 1, sloMs: 100, hopMs: 0, stages: [stage] };
    expect(solveAsPaper(problem, mode)).toMatchObject({ cores: 1, latencyMs: 10 });
    expect(() => solveAsPaper({ ...problem, stages: fork }, mode)).toThrow(AssertionError);
    expect(() => solveAsPaper({ ...problem, stages: [stage, stage] }, mode)).toThrow(
      AssertionError,
    );
    expect(() => solveAsPaper({ ...problem, loadQps: 0 }, mode)).toThrow(AssertionError);
  });

  it("name the stage that binds, in whole milliseconds", () => {
    const stages = [10.2, 30.5, 20.1].map((ms, at): ScalingTask => {
      const parents = at === 0 ? [] : [at - 1];
      return { parents, scale: 1, maxBatch: 1, maxCores: 1, latencyMs: Float64Array.of(ms) };
    });
    const problem = { loadQps: 1, sloMs: 60, hopMs: 0, stages };
    const mode = { kind: "horizontal" } as const;
    expect(solveAsPaper(problem, mode)).toEqual({ bindingStage: 1, leastLatencyMs: 63 });
    expect(
      solveAsPaper({ ...problem, loadQps: 40 }, { kind: "vertical", instances: [1, 1, 1] }),
    ).toEqual({ bindingStage: 1, leastLatencyMs: Number.POSITIVE_INFINITY });
  });
});

/**
 * Alone up to 10/s, in pairs on one core up to 20/s: but a pair fills in time only from 12.5/s on.
 */
const PAIRS: ScalingTask = {
  parents: [],
  scale: 1,
  maxBatch: 2,
  maxCores: 1,
  latencyMs: Float64Array.of(100, 100),
};

describe("instances beside what is resized", () => {
  const mode: Extract<PaperMode, { kind: "vertical" }> = { kind: "vertical", instances: [1] };

  for (const [name, solve] of [
    ["exact", solveExactly],
    ["the paper's", solveAsPaper],
  ] as const) {
    const at = (loadQps: number, gridQps: readonly number[], sloMs: number) =>
      planWithExtras(
        (qps, one) => {
          const answer = solve({ loadQps: qps, sloMs, hopMs: 0, stages: [PAIRS] }, one);
          return isPlan(answer) ? answer : null;
        },
        loadQps,
        mode,
        gridQps,
      );

    it(`none are needed for a load that the running ones carry: ${name}`, () => {
      expect(at(20, [], 180)).toMatchObject({ carriedQps: 20, extras: null });
    });

    it(`the largest load that is carried is found above loads that are not: ${name}`, () => {
      // Nothing carries 11/s or 12/s within 180 ms; 16/s goes in pairs.
      expect(at(11, [], 180)).toBeNull();
      expect(at(26, [5, 11, 12, 16, 21, 30], 180)).toMatchObject({
        carriedQps: 16,
        running: { cores: 1, stages: [{ batch: 2, cores: 1, instances: 1 }] },
        extras: { cores: 1, stages: [{ batch: 1, cores: 1, instances: 1 }] },
      });
    });

    it(`there is no answer without any load that is carried: ${name}`, () => {
      expect(at(26, [5, 16], 50)).toBeNull();
    });
  }
});
