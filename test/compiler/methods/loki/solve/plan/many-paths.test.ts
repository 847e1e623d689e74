import { expect, test } from "vitest";
import { capacityOf } from "../../../../../../compiler/methods/loki/solve/plan/capacity.ts";
import { checkPlan } from "../../../../../../compiler/methods/loki/solve/plan/check-plan.ts";
import { planPipeline } from "../../../../../../compiler/methods/loki/solve/plan/plan-pipeline.ts";
import type { PipelineProblem } from "../../../../../../compiler/model/pipeline.ts";
import { casesOf } from "../../../../../support/cases.ts";
import { bruteCapacity, bruteForce } from "../../../../../support/loki-brute-force.ts";
import { type RandomShape, randomProblem, tinyShape } from "../../../../../support/loki-random.ts";

const LIMITS = { timeLimitMs: 500 };
const AUTO = { ...LIMITS, solver: "auto" } as const;
/** More than a table of paths has. */
const LONG: RandomShape = {
  parents: Array.from({ length: 12 }, (_, task) => (task === 0 ? null : task - 1)),
  variants: 3,
  batches: 6,
  servers: [60],
  oneBatchPerVariant: true,
  isProduct: true,
  zeroFanout: 0,
  tightness: 1.2,
};

/** The same problem, solved as one that has too many paths for a table. */
function withoutTables(problem: PipelineProblem): PipelineProblem {
  const leaves = problem.leaves.map((leaf) => ({ ...leaf, accuracyByPath: null }));
  return { ...problem, leaves };
}

const SEEDS = casesOf(60, 4);

test(`plans without tables lie within their gap, on ${SEEDS} pipelines`, async () => {
  let gaps = 0;
  for (let seed = 1; seed <= SEEDS; seed++) {
    const problem = randomProblem(seed, { ...tinyShape(seed), isProduct: true });
    const large = withoutTables(problem);
    const capacity = bruteCapacity(problem);
    const { qps, boundQps } = capacityOf(large, LIMITS);
    expect(qps, `seed ${seed}`).toBeLessThanOrEqual(capacity * (1 + 1e-6) + 1e-9);
    expect(boundQps, `seed ${seed}`).toBeGreaterThanOrEqual(capacity * (1 - 1e-6) - 1e-9);
    const demandQps = capacity * ([0.25, 0.6, 0.9][seed % 3] ?? 1);
    const exact = bruteForce(problem, demandQps);
    const { plan, report, step } = await planPipeline(large, demandQps, AUTO);
    const label = `seed ${seed}, ${demandQps} QPS`;
    if (plan === null || exact === null) {
      expect(report.status === "unknown" || exact === null, label).toBe(true);
      continue;
    }
    expect(checkPlan(problem, demandQps, plan), label).toEqual([]);
    if (step === "hardware") {
      expect(exact.step, label).toBe(step);
      expect(plan.servers, label).toBeGreaterThanOrEqual(exact.servers);
      expect(plan.servers - report.gap, label).toBeLessThanOrEqual(exact.servers);
      continue;
    }
    const best = exact.step === "hardware" ? plan.accuracy : exact.accuracy;
    expect(plan.accuracy, label).toBeLessThanOrEqual(best + 1e-7);
    expect(plan.accuracy + report.gap, label).toBeGreaterThanOrEqual(best - 1e-7);
    if (report.gap > 0) gaps++;
  }
  expect(gaps).toBeLessThan(SEEDS / 4);
}, 600_000);

const TREE = [null, 0, 1, 2, 3, 3, 4, 5, 6, 7, 8, 9];
const SIZES: readonly (readonly [name: string, shape: Partial<RandomShape>])[] = [
  ["a chain of 12 tasks with 3 variants", {}],
  ["a tree of 12 tasks with 4 variants", { parents: TREE, variants: 4 }],
  ["a chain of 15 tasks with 3 variants on two pools", { parents: chain(15), servers: [60, 40] }],
  ["a chain of 8 tasks with 5 variants", { parents: chain(8), variants: 5, servers: [24] }],
];

function chain(length: number): (number | null)[] {
  return Array.from({ length }, (_, task) => (task === 0 ? null : task - 1));
}

test.each(SIZES)(
  "solves %s to a stated gap, the same twice",
  async (_, shape) => {
    const problem = withoutTables(randomProblem(1, { ...LONG, ...shape }));
    const { qps, boundQps, plan: most } = capacityOf(problem, LIMITS);
    expect(boundQps / qps).toBeLessThan(1.5);
    expect(most === null ? null : checkPlan(problem, qps, most)).toEqual([]);
    for (const share of [0.05, 0.5]) {
      const result = await planPipeline(problem, qps * share, AUTO);
      const { plan, report, step } = result;
      if (plan === null) throw new Error("no plan");
      expect(checkPlan(problem, qps * share, plan)).toEqual([]);
      expect(Math.max(...plan.nodes.map(({ ratio }) => ratio))).toBeLessThanOrEqual(1);
      const optimum = step === "hardware" ? plan.servers : plan.accuracy + report.gap;
      expect(report.gap / optimum).toBeLessThan(0.5);
      if (share < 0.5) expect(await planPipeline(problem, qps * share, AUTO)).toEqual(result);
    }
  },
  600_000,
);
