import { AssertionError } from "node:assert";
import { describe, expect, it } from "vitest";
import { compositionOf } from "../../../../../compiler/methods/themis/solve/composition.ts";
import { ExactScaler } from "../../../../../compiler/methods/themis/solve/exact.ts";
import {
  isPlan,
  type NoScalingPlan,
  type ScalingPlan,
  type ScalingProblem,
  type ScalingTask,
} from "../../../../../compiler/methods/themis/solve/problem.ts";
import type {
  ScalingMode,
  TaskOptionsOf,
} from "../../../../../compiler/methods/themis/solve/task-options.ts";
import { bruteForce } from "../../../../support/themis-brute-force.ts";
import { faultsOf } from "../../../../support/themis-check.ts";
import { solveExactly } from "../../../../support/themis-exact.ts";
import { randomScaling } from "../../../../support/themis-random.ts";

const CHAIN = { stages: 3, maxBatch: 4, maxCores: 3 };
const GRAPH = { stages: 6, maxBatch: 2, maxCores: 2 };
const ZIGZAG = { stages: 4, maxBatch: 4, maxCores: 3 };

interface Tally {
  feasible: number;
  infeasible: number;
  overloaded: number;
  searched: number;
}

describe("the exact solver beside brute force", () => {
  it("has the same cores and latency in 4500 cases of chains", () => {
    const tally = compare("chain", 1, 4500, CHAIN);
    expect(tally.feasible).toBeGreaterThan(1500);
    expect(tally.infeasible).toBeGreaterThan(500);
    expect(tally.overloaded).toBeGreaterThan(500);
  });

  it("has the same cores and latency in 1500 cases of graphs, series-parallel or not", () => {
    const tally = compare("graph", 100_001, 1500, GRAPH);
    expect(tally.feasible).toBeGreaterThan(500);
    expect(tally.searched).toBeGreaterThan(150);
    expect(tally.feasible - tally.searched).toBeGreaterThan(200);
  });

  it("has the same cores and latency in 600 cases of a non-series-parallel graph", () => {
    const tally = compare("zigzag", 200_001, 600, ZIGZAG);
    expect(tally.searched).toBeGreaterThan(200);
  });
});

/**
 * One stage of 100 ms for a batch of one on one core; halved by each doubling of cores, and batches
 * take 20 ms more for each query.
 */
const STAGE: ScalingTask = {
  parents: [],
  scale: 1,
  maxBatch: 2,
  maxCores: 2,
  latencyMs: Float64Array.of(100, 120, 50, 60),
};
const ONE: ScalingProblem = { loadQps: 10, sloMs: 100, hopMs: 0, stages: [STAGE] };
const JOINT = { kind: "joint" } as const;

describe("the exact solver", () => {
  it("allows the SLO itself and utilisation 1", () => {
    expect(solveExactly(ONE, JOINT)).toEqual({
      cores: 1,
      cost: 1,
      latencyMs: 100,
      stages: [{ batch: 1, cores: 1, instances: 1 }],
    });
    expect(solveExactly({ ...ONE, loadQps: 10.001 }, JOINT)).toMatchObject({ cores: 2 });
    expect(solveExactly({ ...ONE, sloMs: 99.999 }, JOINT)).toMatchObject({ cores: 2 });
  });

  it("takes of equally many cores the fastest, and of equals fewer cores per instance", () => {
    // Above 10/s a core does not do with whole queries; two instances of one and one of two have
    // two cores.
    const pairOrOne = solveExactly({ ...ONE, loadQps: 15 }, JOINT);
    expect(pairOrOne).toMatchObject({ cores: 2, latencyMs: 50 });
    const flat = { ...STAGE, latencyMs: Float64Array.of(100, 100, 100, 100) };
    expect(solveExactly({ ...ONE, loadQps: 15, stages: [flat] }, JOINT)).toEqual({
      cores: 2,
      cost: 2,
      latencyMs: 100,
      stages: [{ batch: 1, cores: 1, instances: 2 }],
    });
  });

  it("gives of equal plans of a chain the first stage fewer cores", () => {
    const stages = [STAGE, { ...STAGE, parents: [0] }];
    expect(solveExactly({ ...ONE, sloMs: 150, stages }, JOINT)).toEqual({
      cores: 3,
      cost: 3,
      latencyMs: 150,
      stages: [
        { batch: 1, cores: 1, instances: 1 },
        { batch: 1, cores: 2, instances: 1 },
      ],
    });
  });

  it("counts a hop to every stage and the queries that each stage has of a request", () => {
    const stages = [STAGE, { ...STAGE, parents: [0], scale: 2 }];
    const problem = { ...ONE, sloMs: 1000, hopMs: 7, stages };
    // 20 queries per second: two instances of one core, or one of two, which is faster.
    expect(solveExactly(problem, JOINT)).toMatchObject({ cores: 3, latencyMs: 7 + 100 + 7 + 50 });
    expect(solveExactly(problem, { kind: "horizontal" })).toMatchObject({ latencyMs: 214 });
  });

  it("takes the longest path where stages run side by side", () => {
    const slow = { ...STAGE, latencyMs: Float64Array.of(80, 90, 60, 70) };
    const stages = [STAGE, slow, { ...STAGE, parents: [0, 1] }];
    const problem = { ...ONE, sloMs: 200, stages };
    expect(solveExactly(problem, JOINT)).toMatchObject({ cores: 3, latencyMs: 200 });
    expect(solveExactly({ ...problem, sloMs: 180 }, JOINT)).toMatchObject({
      cores: 4,
      latencyMs: 150,
      stages: [{ cores: 1 }, { cores: 1 }, { cores: 2 }],
    });
  });

  it("names the slowest stage of the longest path where nothing is fast enough", () => {
    const medium = { ...STAGE, latencyMs: Float64Array.of(180, 190, 80, 95) };
    // The first two take 50 ms and 80 ms at their fastest, the third beside them 110 ms.
    const beside = { ...STAGE, latencyMs: Float64Array.of(200, 210, 110, 150) };
    const stages = [STAGE, { ...medium, parents: [0] }, beside];
    expect(solveExactly({ ...ONE, sloMs: 120, stages }, JOINT)).toEqual({
      bindingStage: 1,
      leastLatencyMs: 130,
    });
  });

  it("names a stage that cannot carry the load, whatever the SLO", () => {
    const stages = [STAGE, { ...STAGE, parents: [0], scale: 5 }];
    const mode = { kind: "vertical", instances: [1, 1] } as const;
    expect(solveExactly({ ...ONE, sloMs: 1e6, stages }, mode)).toEqual({
      bindingStage: 1,
      leastLatencyMs: Number.POSITIVE_INFINITY,
    });
  });

  it("lowers the cores of no instance below its limit", () => {
    const mode = { kind: "vertical", instances: [2], leastCores: [2] } as const;
    expect(solveExactly(ONE, mode)).toMatchObject({ cores: 4, latencyMs: 50 });
    const none = { kind: "vertical", instances: [2], leastCores: [3] } as const;
    expect(solveExactly(ONE, none)).toMatchObject({ bindingStage: 0 });
  });

  it("has the fewest instances at and just above a multiple of what one carries", () => {
    for (const ms of [100, 70.3, 277.5]) {
      const stage = { ...STAGE, maxBatch: 1, maxCores: 1, latencyMs: Float64Array.of(ms) };
      const scaler = new ExactScaler({ ...ONE, sloMs: 1000, stages: [stage] });
      for (let instances = 1; instances <= 2000; instances++) {
        const loadQps = instances * (1000 / ms);
        expect(coresOf(scaler.solve(loadQps, JOINT))).toBe(instances);
        expect(coresOf(scaler.solve(nextAbove(loadQps), JOINT))).toBe(instances + 1);
      }
    }
  });

  it("answers the same when it has solved other loads and modes before", () => {
    for (let seed = 1; seed <= 60; seed++) {
      const { problem, modes } = randomScaling(seed, seed % 2 === 0 ? "chain" : "graph", GRAPH);
      const scaler = new ExactScaler(problem);
      for (const loadQps of [problem.loadQps * 3, problem.loadQps / 3, problem.loadQps]) {
        for (const mode of modes) {
          const alone = solveExactly({ ...problem, loadQps }, mode);
          expect(scaler.solve(loadQps, mode)).toEqual(alone);
        }
      }
    }
  });

  it("never has more cores with all free than with any mode, nor under a longer SLO", () => {
    for (let seed = 300_001; seed <= 300_200; seed++) {
      const { problem, modes } = randomScaling(seed, "chain", { ...CHAIN, stages: 6 });
      const [joint, ...others] = modes.map((mode) => solveExactly(problem, mode));
      for (const other of others) expect(coresOf(joint)).toBeLessThanOrEqual(coresOf(other));
      const longer = solveExactly({ ...problem, sloMs: 1.2 * problem.sloMs }, JOINT);
      expect(coresOf(longer)).toBeLessThanOrEqual(coresOf(joint));
    }
  });

  it("takes other ways to run a stage, such as instances that shorten a wait", () => {
    // A wait of 1000 ms divided by the instances: the fewest that carry the load are not the
    // cheapest that meet the SLO.
    const waiting: TaskOptionsOf = (stage, _qps, _limits, out) => {
      for (let count = 1; count <= 9; count++) {
        out.offer(count, (stage.latencyMs[0] ?? 0) + 1000 / count, 1, 1);
      }
    };
    const stages = [STAGE, { ...STAGE, parents: [0] }];
    const answer = solveExactly({ ...ONE, sloMs: 600, stages }, JOINT, waiting);
    // 200 ms of work and 400 ms of wait: 5 and 5 instances.
    expect(answer).toMatchObject({
      cores: 10,
      latencyMs: 600,
      stages: [{ instances: 5 }, { instances: 5 }],
    });
  });

  it("refuses what the caller has to: no load, no SLO, no time, a stage before its parent", () => {
    const refused: readonly ScalingProblem[] = [
      { ...ONE, loadQps: 0 },
      { ...ONE, loadQps: Number.NaN },
      { ...ONE, sloMs: 0 },
      { ...ONE, hopMs: -1 },
      { ...ONE, stages: [] },
      { ...ONE, stages: [{ ...STAGE, parents: [0] }] },
      { ...ONE, stages: [{ ...STAGE, scale: 0 }] },
      { ...ONE, stages: [{ ...STAGE, latencyMs: Float64Array.of(1, 1, 1, -1) }] },
      { ...ONE, stages: [{ ...STAGE, latencyMs: Float64Array.of(1) }] },
    ];
    for (const problem of refused) {
      expect(() => solveExactly(problem, JOINT)).toThrow(AssertionError);
    }
    expect(() => solveExactly(ONE, { kind: "vertical", instances: [] })).toThrow(RangeError);
  });
});

/** The least number above a positive one. */
function nextAbove(value: number): number {
  const bits = new BigUint64Array(Float64Array.of(value).buffer);
  bits[0] = (bits[0] ?? 0n) + 1n;
  return new Float64Array(bits.buffer)[0] ?? Number.NaN;
}

function coresOf(answer: ScalingPlan | NoScalingPlan | undefined): number {
  return answer !== undefined && isPlan(answer) ? answer.cores : Number.POSITIVE_INFINITY;
}

/** Solves each case by both; consecutive cases share a problem and go through its modes. */
function compare(
  shape: "chain" | "graph" | "zigzag",
  firstSeed: number,
  cases: number,
  most: typeof CHAIN,
): Tally {
  const tally = { feasible: 0, infeasible: 0, overloaded: 0, searched: 0 };
  let done = 0;
  for (let seed = firstSeed; done < cases; seed++) {
    const { problem, modes } = randomScaling(seed, shape, most);
    const scaler = new ExactScaler(problem);
    const { rest } = compositionOf(problem.stages.map(({ parents }) => parents));
    for (const mode of modes) {
      const answer = scaler.solve(problem.loadQps, mode);
      expectAsBruteForce(problem, mode, answer, `seed ${seed}, ${mode.kind}`);
      if (isPlan(answer)) tally.feasible++;
      else if (answer.leastLatencyMs < Number.POSITIVE_INFINITY) tally.infeasible++;
      else tally.overloaded++;
      if (isPlan(answer) && rest.length > 1) tally.searched++;
      done++;
    }
  }
  return tally;
}

function expectAsBruteForce(
  problem: ScalingProblem,
  mode: ScalingMode,
  answer: ScalingPlan | NoScalingPlan,
  name: string,
): void {
  const { best, leastLatencyMs } = bruteForce(problem, mode);
  expect(isPlan(answer), name).toBe(best !== null);
  if (isPlan(answer)) {
    expect(faultsOf(problem, mode, answer), name).toEqual([]);
    expect(answer.cores, name).toBe(best?.cores);
    expect(answer.latencyMs / (best?.latencyMs ?? 0), name).toBeCloseTo(1, 9);
    return;
  }
  if (leastLatencyMs === Number.POSITIVE_INFINITY)
    expect(answer.leastLatencyMs).toBe(leastLatencyMs);
  else expect(answer.leastLatencyMs / leastLatencyMs, name).toBeCloseTo(1, 9);
}
