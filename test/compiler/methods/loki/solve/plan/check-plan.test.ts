import { expect, test } from "vitest";
import { checkPlan } from "../../../../../../compiler/methods/loki/solve/plan/check-plan.ts";
import type { PipelinePlan, PipelineProblem } from "../../../../../../compiler/model/pipeline.ts";

const configuration = (latencyMs: number, batch: number) => ({
  pool: 0,
  batch,
  latencyMs,
  throughputQps: (1000 * batch) / latencyMs,
});
const PROBLEM: PipelineProblem = {
  tasks: [
    {
      name: "detect",
      parent: null,
      children: [1],
      entryShare: 1,
      variants: [
        {
          name: "a",
          accuracy: 1,
          fanouts: [2],
          configurations: [configuration(10, 1), configuration(16, 2)],
        },
        { name: "b", accuracy: 0.5, fanouts: [1], configurations: [configuration(5, 1)] },
      ],
    },
    {
      name: "classify",
      parent: 0,
      children: [],
      entryShare: 1,
      variants: [{ name: "c", accuracy: 1, fanouts: [], configurations: [configuration(10, 1)] }],
    },
  ],
  servers: [5],
  leaves: [
    {
      task: 1,
      weight: 1,
      path: [0, 1],
      latencyLimitMs: 20,
      accuracyByPath: Float64Array.of(0.9, 0.4),
    },
  ],
  oneBatchPerVariant: true,
};
// 100 requests/s: half to a (50 queries/s, sends 100), half to b (50, sends 50).
const PLAN: PipelinePlan = {
  instances: [
    { task: 0, variant: 0, configuration: 0, replicas: 1 },
    { task: 0, variant: 1, configuration: 0, replicas: 1 },
    { task: 1, variant: 0, configuration: 0, replicas: 2 },
  ],
  nodes: [
    { parent: null, instance: 0, ratio: 0.5 },
    { parent: null, instance: 1, ratio: 0.5 },
    { parent: 0, instance: 2, ratio: 0.5 },
    { parent: 1, instance: 2, ratio: 0.5 },
  ],
  accuracy: 0.65,
  servers: 4,
};

test("finds nothing wrong with a plan that keeps all limits", () => {
  expect(checkPlan(PROBLEM, 100, PLAN)).toEqual([]);
});

test("names an instance that is too small, at the queries of the paths through it", () => {
  expect(checkPlan(PROBLEM, 140, PLAN)).toEqual([
    "instances[2]: 210 queries/s arrive, it serves 200",
  ]);
});

test("names a path that is too late, a pool that is too small and a wrong accuracy", () => {
  const [leaf] = PROBLEM.leaves;
  if (leaf === undefined) throw new Error("no leaf");
  const problem = { ...PROBLEM, servers: [3], leaves: [{ ...leaf, latencyLimitMs: 19 }] };
  expect(checkPlan(problem, 100, { ...PLAN, accuracy: 0.7 })).toEqual([
    "nodes[0, 2]: 20 ms, the limit is 19 ms",
    "pool 0: 4 servers used of 3",
    "an accuracy of 0.7 stated, its paths have 0.65",
  ]);
});

test("names flow that is lost and a variant with two batch sizes", () => {
  const instances = [...PLAN.instances, { task: 0, variant: 0, configuration: 1, replicas: 1 }];
  const nodes = PLAN.nodes.map((node, index) => (index === 3 ? { ...node, ratio: 0.4 } : node));
  const mistakes = checkPlan(PROBLEM, 100, { ...PLAN, instances, nodes, servers: 5 });
  expect(mistakes).toContain("classify: the ratios of its nodes sum to 0.9");
  expect(mistakes).toContain("nodes[1]: 0.5 arrives, 0.4 goes on to classify");
  expect(mistakes).toContain("instances[3]: no path uses it");
  expect(mistakes).toContain("detect, a: several batch sizes");
});
