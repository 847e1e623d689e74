import fc from "fast-check";
import { expect, test } from "vitest";
import {
  decodeBundle,
  encodeBundle,
  validateBundle,
} from "../../../../../runtime/bundles/checked-bundle.ts";
import { accordionBundle, table1Bundle } from "../../../../support/accordion-bundle.ts";
import { changedAt, refusal } from "../../../../support/refused-bundle.ts";

const deep = { name: "deep", accuracy: 0.9, layerMs: [4, 6, 3, 7, 5, 5] };
const mixed = {
  pools: [{ workers: 3 }, { workers: 2, speed: 0.5 }],
  maxDepth: 3,
  models: [deep, { name: "small", layerMs: [3, 2] }],
} as const;
const bundleWith = (path: string, value: unknown): unknown =>
  changedAt(accordionBundle(), path, value);
const numbers = (shape: number[], ...data: number[]) => ({
  dtype: "uint16",
  shape,
  data: Uint16Array.from(data),
});

test("accepts pipelines of layers and of speed-ups, and gives back what was encoded", () => {
  for (const bundle of [
    accordionBundle(),
    accordionBundle({ timing: "paper" }),
    accordionBundle({ models: [{ ...deep, hasModel: true }] }),
    accordionBundle(mixed),
    accordionBundle({ ...mixed, timing: "paper" }),
    accordionBundle({ ...mixed, policy: { executionPlaces: 4 } }),
    accordionBundle({ places: 2, maxDepth: 8 }),
    table1Bundle(),
    table1Bundle({ timing: "paper", maxDepth: 12 }),
    table1Bundle({ pools: mixed.pools, maxDepth: 4 }),
  ]) {
    expect(validateBundle(bundle)).toEqual(bundle);
    const bytes = encodeBundle(bundle);
    expect(decodeBundle(bytes)).toEqual(bundle);
    expect(Buffer.compare(encodeBundle(decodeBundle(bytes)), bytes)).toBe(0);
  }
});

test("shapes that no pipeline has are infinitely slow, in the file too", () => {
  const decoded = decodeBundle(encodeBundle(accordionBundle({ maxBatch: 2 })));
  const small = decoded.method === "accordion" ? decoded.tasks[0]?.variants[1] : undefined;
  expect(small?.pipelines.map((pipeline) => pipeline?.cut ?? null)).toEqual([
    [2],
    [1, 1],
    null,
    null,
  ]);
  expect(small?.latencyMs.data).toEqual(
    Float64Array.of(5, 10, 5, 8, Infinity, Infinity, Infinity, Infinity),
  );
});

const V = "tasks[0].variants[0]";

test.each<[string, unknown, string]>([
  ["entryBranch", "independent", 'got the key "entryBranch"'],
  ["cluster.pools", [], "cluster.pools: expected an array of 1 to 64"],
  ["tasks", [], "tasks: expected an array of 1, got 0 items"],
  ["tasks", [1, 2], "tasks: expected an array of 1, got 2 items"],
  ["tasks[0].variants", [], "tasks[0].variants: expected an array of 1 to 1000"],
  ["shapes.dtype", "float64", 'shapes.dtype: expected "uint16"'],
  ["shapes.shape", [0, 1], "shapes.shape[0]: expected an integer from 1"],
  [`${V}.layerCount`, -1, "layerCount: expected an integer from 0"],
  [`${V}.pipelines`, [], "pipelines: expected an array of 1 to 65535"],
  [`${V}.pipelines[1].cut[0]`, 0, "cut[0]: expected an integer from 1"],
  [`${V}.pipelines[1].pools`, [], "pools: expected an array of 1 to 64"],
  [`${V}.pipelines[1].pools[0]`, -1, "pools[0]: expected an integer from 0"],
  [`${V}.pipelines[1].stageMs[0]`, 0, "stageMs[0]: expected a number from 0.0"],
  [`${V}.pipelines[1].stepMs`, Number.NaN, "stepMs: expected a number from 0.0"],
  [`${V}.pipelines[1].speedup`, Infinity, "speedup: expected a number above 0"],
  [`${V}.pipelines[1].isMeasured`, 1, "isMeasured: expected true or false"],
  [`${V}.latencyMs.data[3]`, 0, "latencyMs.data[3]: expected a number from 0.0"],
  [`${V}.latencyMs.data[3]`, -Infinity, "latencyMs.data[3]: expected a number from 0.0"],
  [`${V}.latencyMs.data[3]`, Number.NaN, "latencyMs.data[3]: expected a number from 0.0"],
  [`${V}.latencyMs.data[3]`, 1e16, "latencyMs.data[3]: expected a number from 0.0"],
  [`${V}.stages`, null, "stages: expected an array of 0 to"],
  ["policy.executionPlaces", 0, "policy.executionPlaces: expected an integer from 1 to 4096"],
  ["policy.maxDepth", 65, "policy.maxDepth: expected an integer from 1 to 64"],
  ["policy.timing", "fast", 'policy.timing: expected "pipelined" or "paper"'],
  ["policy.maxBatch", 0, "policy.maxBatch: expected an integer from 1 to 4096"],
  [
    "policy.scheduler",
    "fifo",
    'expected "accordion" or "slo-conforming" or "fastest" or "bbs" or "one-stage"',
  ],
  ["policy.regrow", null, "policy.regrow: expected true or false"],
  ["policy.reconfigurationMs", -1, "policy.reconfigurationMs: expected a number from 0"],
  ["policy.dropAfterSlos", 0, "policy.dropAfterSlos: expected a number from 0.0"],
  ["policy.meanBatch", 0.5, "policy.meanBatch: expected a number from 1"],
  ["policy.batchSigma", -0.1, "policy.batchSigma: expected a number from 0 to 10"],
  ["policy.lowShare", 1.1, "policy.lowShare: expected a number from 0 to 1"],
  ["levels", [], "levels: expected an array of 1"],
  ["levels[0].capacityQps", 0, "capacityQps: expected a number from 1e-15"],
  ["levels[0].expected.occupancy", 2, "occupancy: expected a number from 0 to 1"],
  ["levels[0].expected.activeQueries", -1, "activeQueries: expected a number from 0"],
  ["levels[0].expected.reconfigurations", Infinity, "reconfigurations: expected a number from 0"],
  ["levels[0].expected.queries", 0.5, "queries: expected an integer from 0"],
  ["levels[0].expected.durationMs", 0, "durationMs: expected a number from 0.0"],
])("refuses %s = %j for its shape", (path, value, message) => {
  const found = refusal(bundleWith(path, value));
  expect(found).toMatch(/^BUNDLE_SCHEMA [^\n]*; compile the bundle again$/);
  expect(found).toContain(message);
});

test.each<[string, unknown, string]>([
  ["policy.executionPlaces", 9, "expected at most 8, the workers of all pools, got 9"],
  ["policy.maxDepth", 3, "shapes.shape[0]: expected 3, all that the places allow, got 4"],
  ["policy.maxDepth", 5, "expected more rows: the places also allow [5], got 4"],
  ["cluster.pools[0].workers", 3, "policy.executionPlaces: expected at most 3"],
  ["shapes", numbers([2, 2], 1, 0, 0, 1), "shapes.shape: expected [2,1], got [2,2]"],
  ["shapes.data[0]", 2, "shapes.data[0]: expected 1, of the row [1], got 2"],
  ["shapes", numbers([3, 1], 1, 2, 3), "expected more rows: the places also allow [4], got 3"],
  ["tasks[0].variants[1].name", "deep", 'expected a name of its own, got "deep" again'],
  [`${V}.profiles`, [1, 2].map(profile), "profiles.length: expected 1, one per pool, got 2"],
  [`${V}.pipelines[4]`, null, "pipelines.length: expected 4, one per shape, got 5"],
  [`${V}.pipelines[0]`, null, "pipelines[0]: expected a pipeline, got null"],
  [`${V}.pipelines[1]`, null, "pipelines[1]: expected a pipeline, got null"],
  ["tasks[0].variants[1].layerCount", 3, "pipelines[0].cut: expected 3 layers in all, got [2]"],
  [`${V}.layerCount`, 3, "pipelines[0].cut: expected 3 layers in all, got [6]"],
  ["tasks[0].variants[1].layerCount", 1, "pipelines[0].cut: expected 1 layers in all, got [2]"],
  [
    "tasks[0].variants[1].pipelines[2]",
    accordionBundle().tasks[0]?.variants[0]?.pipelines[2],
    "pipelines[2]: expected null, as for every shape of more than 2 places, got a pipeline",
  ],
  [`${V}.pipelines[1].pools`, [0], "pools.length: expected 2, the places of the shape, got 1"],
  [
    `${V}.pipelines[1].pools`,
    [0, 1],
    "pools: expected [0,0] in some order, as the shape says, got [0,",
  ],
  [`${V}.pipelines[1].cut`, [6], "pipelines[1].cut.length: expected 2, the stages, got 1"],
  [`${V}.pipelines[1].cut`, [3, 2], "pipelines[1].cut: expected 6 layers in all, got [3,2]"],
  [`${V}.pipelines[1].stageMs`, [17], "stageMs.length: expected 2, the stages, got 1"],
  [`${V}.pipelines[1].stageMs[0]`, 14, "data[8]: expected 31, what the pipeline takes for 1, got"],
  [`${V}.pipelines[1].speedup`, 1.76, "speedup: expected 1.7647058823529411, how much shorter its"],
  [`${V}.latencyMs.shape`, [8, 4], "latencyMs.shape: expected [4,8], got [8,4]"],
  ["policy.maxBatch", 9, "latencyMs.shape: expected [4,9], got [4,8]"],
  ["policy.timing", "paper", "data[8]: expected 17, what the pipeline takes for 1, got 30"],
  [`${V}.latencyMs.data[9]`, 47.001, "data[9]: expected 47, what the pipeline takes for 2, got"],
  [
    `${V}.latencyMs.data[9]`,
    Infinity,
    "data[9]: expected 47, what the pipeline takes for 2, got I",
  ],
  ["tasks[0].variants[1].latencyMs.data[16]", 5, "expected Infinity, without a pipeline, got 5"],
  [`${V}.stages`, [stage(0, 6)], "stages: expected none without a model, got 1 items"],
  ["levels[1].loadQps", 10, "levels[1].loadQps: expected more than 10"],
  ["levels[0].capacityQps", 9, "feasible: expected true only up to 9 qps and violation rate 0.01"],
  ["levels[0].expected.violationRate", 0.02, "got true at 10 qps with violation rate 0.02"],
  ["levels[0].expected.droppedRate", 0.003, "expected at most 0.002, since what is dropped is a v"],
  ["levels[0].expected.latencyMsP50", 141, "latencyMsP50: expected at most 140, the p99, got 141"],
])("refuses %s = %j for what it contradicts", (path, value, message) => {
  const found = refusal(bundleWith(path, value));
  expect(found).toMatch(/^BUNDLE_SEMANTICS [^\n]*; compile the bundle again$/);
  expect(found).toContain(message);
});

function profile() {
  return { file: "p.json", variant: "deep", hardware: "cpu", sha256: "0".repeat(64) };
}

function stage(from: number, to: number) {
  const tensor = { name: "x", dtype: "float32", shape: [1] };
  const model = { file: "s.onnx", sha256: "0".repeat(64), inputs: [tensor], outputs: [tensor] };
  return { from, to, model };
}

test.each<[string, unknown, string]>([
  ["pools[1].name", "default", 'cluster.pools[1].name: expected a name of its own, got "default"'],
  ["pools[0].workers", 2, "policy.executionPlaces: expected at most 4, the workers of all pools"],
])("refuses cluster.%s = %j of two pools", (path, value, message) => {
  expect(refusal(changedAt(accordionBundle(mixed), `cluster.${path}`, value))).toContain(message);
});

test("rows of shapes are all that the pools in use allow, fewest places first", () => {
  const bundle = accordionBundle({ ...mixed, policy: { executionPlaces: 4 } });
  expect(Array.from(bundle.shapes.data)).toEqual(
    [
      [1, 0],
      [0, 1],
      [2, 0],
      [1, 1],
      [3, 0],
      [2, 1],
    ].flat(),
  );
  const swapped = numbers([6, 2], 0, 1, 1, 0, 2, 0, 1, 1, 3, 0, 2, 1);
  expect(refusal(changedAt(bundle, "shapes", swapped))).toContain(
    "shapes.data[0]: expected 1, of the row [1,0], got 0",
  );
  expect(refusal(changedAt(bundle, "policy.executionPlaces", 5))).toContain(
    "shapes.data[8]: expected 0, of the row [0,2], got 3",
  );
});

test("shapes of any pools are those that counting finds", () => {
  const pools = fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 1, maxLength: 4 });
  fc.assert(
    fc.property(pools, fc.nat(15), fc.integer({ min: 1, max: 5 }), (workers, unused, maxDepth) => {
      const all = workers.reduce((sum, count) => sum + count, 0);
      const bundle = accordionBundle({
        pools: workers.map((count) => ({ workers: count })),
        maxDepth,
        maxBatch: 1,
        models: [{ name: "tiny", layerMs: [1, 2] }],
        policy: { executionPlaces: Math.max(1, all - unused) },
      });
      expect(refusal(bundle)).toBe("accepted");
    }),
    { seed: 1, numRuns: 60 },
  );
});

test("the pools of a pipeline are those of its shape, in any order", () => {
  const bundle = accordionBundle(mixed);
  const row = `${V}.pipelines[3]`;
  expect(bundle.tasks[0]?.variants[0]?.pipelines[3]?.pools).toEqual([1, 0]);
  expect(refusal(changedAt(bundle, `${row}.pools`, [0, 1]))).toBe("accepted");
  expect(refusal(changedAt(bundle, `${row}.pools`, [1, 1]))).toContain(
    "pools: expected [0,1] in some order, as the shape says, got [1,1]",
  );
});

test("the step of measured stages is a mean, the rest of the first instance's time is not", () => {
  const measured = changedAt(accordionBundle(), `${V}.pipelines[0].isMeasured`, true);
  expect(refusal(measured)).toBe("accepted");
  const slower = changedAt(measured as object, `${V}.pipelines[0].stageMs[0]`, 33);
  expect(refusal(slower)).toContain(`${V}.latencyMs.data[0]: expected 33, what the pipeline takes`);
});

test("speed-ups come without layers and end where they are not given", () => {
  const bundle = table1Bundle({ maxDepth: 9, maxBatch: 2 });
  const at = (path: string, value: unknown) =>
    refusal(changedAt(bundle, `tasks[0].variants[0].${path}`, value));
  expect(bundle.tasks[0]?.variants[0]?.pipelines[8]).toBeNull();
  expect(at("pipelines[3].cut", [1])).toContain("cut.length: expected 0, the stages, got 1");
  expect(at("pipelines[3].stageMs", [1])).toContain("stageMs.length: expected 0, the stages, got");
  expect(at("pipelines[3]", null)).toContain(
    "pipelines[4]: expected null, as for every shape of more than 3 places, got a pipeline",
  );
  const model = { file: "m.onnx", sha256: "0".repeat(64), ...tensors() };
  expect(at("model", model)).toContain(
    "model: expected null, since it has no layers that could be served, got a model",
  );
});

function tensors() {
  const tensor = { name: "x", dtype: "float32", shape: [1] };
  return { inputs: [tensor], outputs: [{ ...tensor, name: "y" }] };
}
