import { expect, test } from "vitest";
import {
  decodeBundle,
  encodeBundle,
  validateBundle,
} from "../../../../../runtime/bundles/checked-bundle.ts";
import { changedAt, refusal } from "../../../../support/refused-bundle.ts";
import { themisBundle } from "../../../../support/themis-bundle.ts";
import { themisSample } from "../../../../support/themis-samples.ts";

const bundleWith = (path: string, value: unknown): unknown =>
  changedAt(themisBundle(), path, value);
const sampleWith = (path: string, value: unknown): unknown =>
  changedAt(themisSample(), path, value);
const points = (...rows: number[][]) => ({
  dtype: "float64",
  shape: [rows.length, 3],
  data: Float64Array.from(rows.flat()),
});
const FEED = { inputs: [{ input: "x", output: "y" }], count: null };

test("accepts chains and joins, and gives back what was encoded, byte for byte", () => {
  for (const bundle of [
    themisBundle(),
    themisSample(),
    themisBundle({ cores: null, workers: 32 }),
  ]) {
    expect(validateBundle(bundle)).toEqual(bundle);
    const bytes = encodeBundle(bundle);
    expect(decodeBundle(bytes)).toEqual(bundle);
    expect(Buffer.compare(encodeBundle(decodeBundle(bytes)), bytes)).toBe(0);
  }
});

test("a fit that was given has no points, and its empty table is kept", () => {
  const decoded = decodeBundle(encodeBundle(themisBundle()));
  const variant = decoded.method === "themis" ? decoded.tasks[0]?.variants[0] : undefined;
  expect(variant?.latency.points.shape).toEqual([0, 3]);
  expect(variant?.latency.fit).toEqual({ gamma: 20, epsilon: 10, delta: 1, eta: 4 });
});

test.each<[string, unknown, string]>([
  ["leaves", [], 'got the key "leaves"'],
  ["cluster.pools", [], "cluster.pools: expected an array of 1"],
  ["cluster.pools", [1, 2], "cluster.pools[0]: expected a map, got 1"],
  ["tasks", [], "tasks: expected an array of 1 to 64"],
  ["tasks[0].variants", [], "tasks[0].variants: expected an array of 1 to 1000"],
  ["tasks[0].scaleFactor", 0, "scaleFactor: expected a number above 0, at most 10000"],
  ["tasks[0].variants[0].latency.ms.data[3]", 0, "ms.data[3]: expected a number from 0.001"],
  ["tasks[0].variants[0].latency.ms.data[3]", Number.NaN, "ms.data[3]: expected a number from"],
  ["tasks[0].variants[0].latency.ms.data[3]", Infinity, "ms.data[3]: expected a number from"],
  ["tasks[0].variants[0].latency.fit.eta", Number.NaN, "fit.eta: expected a number from"],
  ["tasks[0].variants[0].latency.points.shape", [0, 0], "shape[1]: expected an integer from 1"],
  ["transitions.shape", [0, 3, 2, 3], "transitions.shape[0]: expected an integer from 1"],
  ["transitions.dtype", "float64", 'transitions.dtype: expected "uint16"'],
  ["policy.maxBatch", 0, "policy.maxBatch: expected an integer from 1"],
  ["policy.quantile", 1, "policy.quantile: expected a number above 0 and below 1"],
  ["policy.scaling", "both", 'expected "joint" or "themis" or "horizontal" or "vertical"'],
  [
    "policy.predictor",
    "arima",
    'expected "last-max" or "ewma" or "holt" or "poisson-peak" or "lstm"',
  ],
  ["policy.tickMs", 0, "policy.tickMs: expected a number from 0.001"],
  ["policy.stableTicks", 0, "policy.stableTicks: expected an integer from 1"],
  ["policy.coldStartMs", -1, "policy.coldStartMs: expected a number from 0"],
  ["policy.dropAfterSlos", 0, "policy.dropAfterSlos: expected a number from 0.001"],
  ["levels[0].steady", null, "levels[0].steady: expected a map, got null"],
  ["levels[0].steady.stages[0].instances", 0, "instances: expected an integer from 1"],
  ["levels[0].steady.expected.violationRate", 1.1, "violationRate: expected a number from 0 to 1"],
  ["levels[0].solve.quantile", 1, "solve.quantile: expected a number above 0 and below 1"],
  ["levels[0].solve.bindingTask", -1, "solve.bindingTask: expected an integer from 0"],
])("refuses %s = %j for its shape", (path, value, message) => {
  const found = refusal(bundleWith(path, value));
  expect(found).toMatch(/^BUNDLE_SCHEMA [^\n]*; compile the bundle again$/);
  expect(found).toContain(message);
});

test.each<[string, unknown, string]>([
  ["tasks[1].name", "detect", 'tasks[1].name: expected a name of its own, got "detect" again'],
  ["tasks[1].edges[0].parent", 1, "expected the index of an earlier task, got 1"],
  ["tasks[0].edges[0].feed", FEED, "expected null, since no task is before it, got a feed"],
  ["tasks[1].edges[0].share", 0.5, "tasks[1].scaleFactor: expected 0.5, as the shares of the edge"],
  ["tasks[1].scaleFactor", 0.99, "tasks[1].scaleFactor: expected 1, as the shares of the edges"],
  ["policy.maxCores", 3, "latency.ms.shape: expected [at most 3, at most 8], got [4,8]"],
  ["policy.maxBatch", 7, "latency.ms.shape: expected [at most 4, at most 7], got [4,8]"],
  ["tasks[0].variants[0].latency.ms.data[9]", 1, "ms.data[9]: expected at least 20, the time of"],
  ["tasks[0].variants[0].latency.points", points([9, 1, 5]), "a batch size from 1 to 8, got 9"],
  ["tasks[0].variants[0].latency.points", points([1.5, 1, 5]), "a batch size from 1 to 8, got 1.5"],
  ["tasks[0].variants[0].latency.points", points([1, 5, 5]), "data[1]: expected cores from 1 to 4"],
  ["tasks[0].variants[0].latency.points", points([1, 1, 0]), "data[2]: expected a time above 0"],
  ["tasks[0].variants[0].latency.points", points([1, 1, NaN]), "expected a time above 0, got NaN"],
  [
    "tasks[0].variants[0].latency.points",
    points([1, 2, 5], [8, 1, 5]),
    "data[3]: expected ascending cores, and batches for the same cores, got batch 8 on 1 cores",
  ],
  ["tasks[0].variants[0].latency.points", points([1, 2, 5], [1, 2, 5]), "data[3]: expected ascend"],
  [
    "tasks[0].variants[0].latency.points",
    { dtype: "float64", shape: [3, 1], data: Float64Array.of(1, 1, 5) },
    "points.shape: expected [3,3], got [3,1]",
  ],
  ["levels[1].loadQps", 20, "levels[1].loadQps: expected more than 20"],
  ["levels[0].capacityQps", 19, "capacityQps: expected 20, the load, got 19"],
  ["levels[0].feasible", false, "capacityQps: expected less than 20, the load, got 20"],
  ["levels[0].solve.status", "infeasible", "feasible: expected false, as solve.status, got true"],
  ["levels[0].solve.bindingTask", 2, "bindingTask: expected the index of a task, got 2"],
  ["policy.queueing", "paper", "quantile: expected null with the paper's queueing, got 0.95"],
  ["levels[2].horizontal.stages[0].cores", 2, "horizontal.cores: expected 10, those of the stages"],
  ["levels[2].steady.stages[0].batch", 9, "stages[0].batch: expected a batch size from 1 to 8"],
  ["levels[2].steady.stages[0].cores", 5, "stages[0].cores: expected cores from 1 to 4, got 5"],
  ["levels[2].steady.stages[0].instances", 3, "steady.cores: expected 8, those of the stages, got"],
  ["levels[2].joint.stages[0].batch", 3, "qps, the load of the task, got"],
  ["levels[2].steady.stages", [{ batch: 4, cores: 2, instances: 2 }], "expected 2, one per task"],
  ["cluster.pools[0].workers", 1, "horizontal.cores: expected at most 4, those of the pool, got 6"],
  ["transitions.shape", [3, 2, 3, 3], "transitions.shape: expected [3,3,2,3], got [3,2,3,3]"],
  ["transitions.data[0]", 2, "transitions.data[0]: expected a batch size 1, got 2"],
  ["transitions.data[1]", 2, "transitions.data[1]: expected cores 1, got 2"],
  ["transitions.data[2]", 1, "transitions.data[2]: expected instances to add 0, got 1"],
  ["transitions.data[6]", 9, "transitions.data[6]: expected a batch size from 1 to 8, got 9"],
  ["transitions.data[6]", 0, "transitions.data[6]: expected a batch size from 1 to 8, got 0"],
  ["transitions.data[7]", 5, "transitions.data[7]: expected cores from 1 to 4, got 5"],
  ["transitions.data[31]", 1, "transitions.data[31]: expected cores from 2 to 4, got 1"],
  ["transitions.data[8]", 31, "expected at most 32, one for each core of the pool, got 33 instanc"],
])("refuses %s = %j for what it contradicts", (path, value, message) => {
  const found = refusal(bundleWith(path, value));
  expect(found).toMatch(/^BUNDLE_SEMANTICS [^\n]*; compile the bundle again$/);
  expect(found).toContain(message);
});

test("a join gets at least what its largest edge brings and at most what all bring", () => {
  for (const scaleFactor of [0.6, 0.7]) {
    expect(refusal(sampleWith("tasks[3].scaleFactor", scaleFactor))).toBe("accepted");
  }
  expect(refusal(sampleWith("tasks[3].scaleFactor", 0.59))).toContain(
    "tasks[3].scaleFactor: expected 0.6 to 0.8999999999999999, " +
      "as the shares of the edges say, got 0.59",
  );
  expect(refusal(sampleWith("tasks[3].scaleFactor", 0.91))).toContain("expected 0.6 to 0.8999");
});

test("a horizontal plan has one core each, and a vertical one instance", () => {
  const [, , level] = themisBundle().levels;
  const with2 = bundleWith("levels[2].horizontal", level?.steady);
  expect(refusal(with2)).toContain("levels[2].horizontal.stages[0].cores: expected 1, got 2");
  const twice = bundleWith("levels[2].vertical", level?.steady);
  expect(refusal(twice)).toContain("levels[2].vertical.stages[0].instances: expected 1, got 2");
});

test("a level without any plan is not feasible", () => {
  const [level] = themisBundle().levels;
  const without = { ...level, horizontal: null, vertical: null, joint: null };
  expect(refusal(bundleWith("levels[0]", without))).toContain(
    "levels[0].feasible: expected false, since there is no plan, got true",
  );
});

test("the joint plan is no dearer than the others, by exact paper queueing alone", () => {
  const levels = [
    {
      loadQps: 20,
      steady: [
        [1, 1, 2],
        [1, 1, 1],
      ],
      horizontal: [
        [1, 1, 1],
        [1, 1, 1],
      ],
    },
  ] as const;
  const paper = { queueing: "paper" } as const;
  expect(refusal(themisBundle({ levels }))).toBe("accepted");
  expect(refusal(themisBundle({ levels, policy: { ...paper, solver: "paper" } }))).toBe("accepted");
  expect(refusal(themisBundle({ levels, policy: paper }))).toContain(
    "levels[0].joint.cores: expected at most 2, as the horizontal plan, got 3",
  );
  const none = changedAt(themisBundle({ policy: paper }), "levels[0].joint", null);
  expect(refusal(none)).toContain("levels[0].joint: expected a plan, since the horizontal one is");
});

test("a plan may be as fast as its load to the last bits, and no slower", () => {
  const at = (loadQps: number) =>
    refusal(
      themisBundle({
        tasks: [{ name: "only", latencyMs: [[10]] }],
        policy: { maxBatch: 1, maxCores: 1 },
        levels: [{ loadQps, steady: [[1, 1, 1]], horizontal: null, vertical: null }],
      }),
    );
  expect(at(100)).toBe("accepted");
  expect(at(100 * (1 + 1e-12))).toBe("accepted");
  expect(at(100.001)).toContain("joint.stages[0]: expected at least 100.001 qps, the load of the");
});

test("a throughput that cannot be computed is refused", () => {
  const tiny = themisBundle({
    tasks: [{ name: "only", latencyMs: [[5e-324]] }],
    policy: { maxBatch: 1, maxCores: 1 },
    levels: [{ loadQps: 1, steady: [[1, 1, 1]], horizontal: null, vertical: null }],
  });
  expect(refusal(tiny)).toContain("latency.ms.data[0]: expected a number from 0.001");
});

test("exclusive branches whose shares are more than all are refused", () => {
  const exclusive = changedAt(themisSample(), "tasks[0].branch", "exclusive");
  expect(refusal(exclusive)).toBe("accepted");
  const more = {
    ...themisBundle({
      tasks: [
        { name: "sort", branch: "exclusive", latencyMs: [[1]] },
        { name: "a", from: { sort: 0.8 }, latencyMs: [[1]] },
        { name: "b", from: { sort: 0.3 }, latencyMs: [[1]] },
      ],
      levels: [{ loadQps: 1, steady: [1, 2, 3].map(() => [1, 1, 1] as const) }],
    }),
  };
  expect(refusal(more)).toContain('tasks[0].branch: expected "independent", since the shares');
});
