import { expect, test } from "vitest";
import {
  decodeBundle,
  encodeBundle,
  validateBundle,
} from "../../../../../runtime/bundles/checked-bundle.ts";
import { inferlineBundle } from "../../../../support/inferline-bundle.ts";
import { inferlineSample } from "../../../../support/inferline-samples.ts";
import { changedAt, refusal } from "../../../../support/refused-bundle.ts";

const sampleWith = (path: string, value: unknown): unknown =>
  changedAt(inferlineSample(), path, value);
const doubles = (...values: number[]) => ({
  dtype: "float64",
  shape: [values.length],
  data: Float64Array.from(values),
});
const FEED = { inputs: [{ input: "x", output: "y" }], count: null };

test("accepts stages with branches and a join, and gives back every byte", () => {
  const exclusive = inferlineBundle({
    tasks: [
      { name: "sort", branch: "exclusive", latencyMs: { 1: 10 } },
      // A third three times is a little more than 1 in some orders of adding, and stays allowed.
      ...["a", "b", "c"].map((name) => ({ name, from: { sort: 1 / 3 }, latencyMs: { 1: 10 } })),
    ],
    levels: [{ loadQps: 10, stages: [1, 2, 3, 4].map(() => [1, 2] as const) }],
  });
  for (const bundle of [inferlineSample(), exclusive]) {
    expect(validateBundle(bundle)).toEqual(bundle);
    const bytes = encodeBundle(bundle);
    expect(decodeBundle(bytes)).toEqual(bundle);
    expect(Buffer.compare(encodeBundle(decodeBundle(bytes)), bytes)).toBe(0);
  }
});

test("an unknown method is refused with the names of those there are", () => {
  expect(refusal(sampleWith("method", "clipper"))).toContain(
    'method: expected "ramsis" or "loki" or "inferline" or "themis" or "accordion", got "clipper"',
  );
});

test.each<[string, unknown, string]>([
  ["leaves", [], 'got the key "leaves"'],
  ["entryBranch", "some", 'entryBranch: expected "independent" or "exclusive"'],
  ["tasks", [], "tasks: expected an array of 1 to 64"],
  ["tasks[0].edges", [], "tasks[0].edges: expected an array of 1 to 64"],
  ["tasks[0].edges[0].parent", -1, "parent: expected an integer"],
  ["tasks[1].edges[0].share", 1.25, "share: expected a number from 0 to 1"],
  ["tasks[1].branch", null, 'branch: expected "independent" or "exclusive"'],
  ["tasks[1].edges[0].fanout", 1001, "fanout: expected a number from 0 to 1000"],
  ["tasks[1].edges[0].gather", 0, "gather: expected"],
  ["policy.margin", 1, "policy.margin: expected a number above 0 and below 1"],
  ["policy.traces", 0, "policy.traces: expected an integer from 1"],
  ["policy.tuner", "loose", 'policy.tuner: expected "joint" or "relative" or "paper" or "none"'],
  ["policy.tolerance", 101, "policy.tolerance: expected a number from 0 to 100"],
  ["levels[0].plan.stages[0].replicas", 0, "replicas: expected an integer from 1"],
  ["levels[0].plan.stages[0].scaleFactor", -1, "scaleFactor: expected a number from 0 to 10000"],
  ["levels[0].plan.stages", [], "stages: expected an array of 1 to 64"],
  ["levels[0].sample.meanQps", 0, "meanQps: expected a number from 1e-15"],
  ["levels[0].sample.envelope.windowMs.dtype", "uint16", 'dtype: expected "float64"'],
  ["levels[0].solve.status", "unknown", 'expected "optimal" or "feasible" or "infeasible"'],
  ["levels[0].solve.provenGap", -0.1, "provenGap: expected a number from 0 to 1"],
  ["levels[0].expected.heldOut.traces", 0.5, "traces: expected an integer from 0"],
])("refuses %s = %j for its shape", (path, value, message) => {
  const found = refusal(sampleWith(path, value));
  expect(found).toMatch(/^BUNDLE_SCHEMA [^\n]*; compile the bundle again$/);
  expect(found).toContain(message);
});

test.each<[string, unknown, string]>([
  ["cluster.pools[1].pricePerHour", null, "pricePerHour: expected a price above 0, got null"],
  ["cluster.pools[1].pricePerHour", 0, "pricePerHour: expected a price above 0, got 0"],
  ["cluster.pools[1].name", "pool0", 'expected a name of its own, got "pool0" again'],
  ["tasks[1].name", "detect", 'tasks[1].name: expected a name of its own, got "detect" again'],
  ["tasks[1].edges[0].parent", 1, "expected the index of an earlier task, got 1"],
  ["tasks[3].edges[1].parent", 1, "edges[1].parent: expected a later task than that of the edge"],
  ["tasks[3].edges[1].parent", 0, "edges[1].parent: expected a later task than that of the edge"],
  [
    "tasks[3].edges[1].parent",
    null,
    "expected a later task than that of the edge before, got null",
  ],
  ["tasks[0].edges[0].feed", FEED, "expected null, since no task is before it, got a feed"],
  ["tasks[0].edges[0].fanout", 2, "expected none of both, since no task is before it"],
  ["tasks[1].edges[0].gather", 2, "expected none, since no fan-out is before it"],
  ["tasks[1].edges[0].gather", "all", "expected batches of 1, since rows of any number are gath"],
  ["tasks[1].edges[0].fanout", 2, "expected those that the edge before brings, got rows of"],
  ["tasks[3].edges[0].fanout", 2, "tasks[3].edges: expected one, since it makes rows"],
  ["tasks[1].variants[0].profiles", [null, null], "expected 3, one per pool, got 2"],
  ["tasks[1].variants[0].profiles", [null, null, null], "expected a profile for some pool"],
  [
    "tasks[1].variants[0].profiles[1].batches.data",
    Uint16Array.of(1, 1, 4),
    "expected more than 1",
  ],
  ["tasks[1].variants[0].profiles[1].batches.data", Uint16Array.of(1, 2, 5), "expected 5, the lar"],
  ["levels[1].loadQps", 40, "levels[1].loadQps: expected more than 40"],
  ["levels[0].capacityQps", 39, "capacityQps: expected 40, the load, got 39"],
  ["levels[0].capacityQps", 41, "capacityQps: expected 40, the load, got 41"],
  ["levels[3].capacityQps", 601, "capacityQps: expected at most 600, the load, got 601"],
  ["levels[0].solve.provenGap", 0.1, "expected 0, since the plan is optimal, got 0.1"],
  ["levels[0].solve.status", "infeasible", "feasible: expected false, as solve.status, got true"],
  ["levels[0].sample.estimate.missRate", 0.02, "expected true only up to a miss rate of 0.01"],
  ["levels[0].plan.stages[0].variant", 1, "expected the index of a variant, got 1"],
  ["levels[0].plan.stages[0].pool", 3, "expected the index of a pool the variant has a profile"],
  ["levels[0].plan.stages[1].pool", 0, "expected the index of a pool the variant has a profile"],
  ["levels[0].plan.stages[0].batch", 3, "batch: expected a profiled size: 1, 2, 4, 8, got 3"],
  ["levels[0].plan.stages[0].latencyMs", 61, "expected 60, that of the profile, got 61"],
  ["levels[0].plan.stages[0].throughputQps", 67, "as batch and latency say, got 67"],
  ["levels[0].plan.stages[0].provisioningRatio", 0.61, "as the sample says, got 0.61"],
  ["levels[0].sample.meanQps", 41, "provisioningRatio: expected"],
  ["levels[0].plan.costPerHour", 1.401001, "expected 1.401, the price of the replicas"],
  ["cluster.pools[1].workers", 1, "expected at most 1, got 2 replicas in pool 1"],
  ["levels[0].expected.heldOut.met", 21, "met: expected at most 20, all traces, got 21"],
  ["levels[0].sample.envelope.requests", doubles(1, 2), "requests.shape: expected [5], got [2]"],
  ["levels[0].sample.envelope.windowMs", doubles(1, 2, 2, 3, 60_000), "data[2]: expected more tha"],
  [
    "levels[0].sample.envelope.windowMs",
    doubles(1, 2, 3, 4, Number.POSITIVE_INFINITY),
    "data[4]: expected more than 4, got Infinity",
  ],
  [
    "levels[0].sample.envelope.windowMs.data[0]",
    Number.NaN,
    "data[0]: expected more than 0, got NaN",
  ],
  ["levels[0].sample.envelope.requests.data[2]", 25, "expected a whole number from 26, got 25"],
  ["levels[0].sample.envelope.requests.data[0]", 0, "expected a whole number from 1, got 0"],
  ["levels[0].sample.envelope.requests.data[0]", 16.5, "expected a whole number from 1, got 16.5"],
])("refuses %s = %j for what it contradicts", (path, value, message) => {
  const found = refusal(sampleWith(path, value));
  expect(found).toMatch(/^BUNDLE_SEMANTICS [^\n]*; compile the bundle again$/);
  expect(found).toContain(message);
});

test("refuses a stage too few, and one too many", () => {
  const { levels } = inferlineSample();
  const stages = levels[0]?.plan.stages ?? [];
  const path = "levels[0].plan.stages";
  expect(refusal(sampleWith(path, stages.slice(1)))).toContain("expected 4, one per task, got 3");
  expect(refusal(sampleWith(path, [...stages, ...stages.slice(1, 2)]))).toContain("got 5");
});

test("refuses a second variant for a pool", () => {
  const [first] = inferlineSample().tasks[0]?.variants ?? [];
  const second = { ...first, name: "other" };
  expect(refusal(sampleWith("tasks[0].variants", [first, second]))).toContain(
    "tasks[0].variants[1].profiles[0]: expected null, since variant 0 has one, got a profile",
  );
});

test("refuses exclusive branches whose shares are more than all", () => {
  const { tasks } = inferlineSample();
  const before = changedAt(inferlineSample(), "tasks[1].edges[0].share", 0.8) as object;
  expect(refusal(before)).toBe("accepted");
  expect(refusal(changedAt(before, "tasks[0].branch", "exclusive"))).toContain(
    'tasks[0].branch: expected "independent", since the shares of its edges sum to 1.1',
  );
  const entries = changedAt(inferlineSample(), "tasks[1].edges", tasks[0]?.edges) as object;
  expect(refusal(entries)).toBe("accepted");
  expect(refusal(changedAt(entries, "entryBranch", "exclusive"))).toContain(
    "entryBranch: expected",
  );
});

test("refuses more edges than there are to be", () => {
  // 23 tasks, each after all before it, have 253 edges besides the first task's.
  const names = Array.from({ length: 24 }, (_, index) => `t${index}`);
  const bundle = (count: number) =>
    inferlineBundle({
      tasks: names.slice(0, count).map((name, index) => ({
        name,
        latencyMs: { 1: 1 },
        ...(index === 0
          ? {}
          : { from: Object.fromEntries(names.slice(0, index).map((one) => [one, 0.5])) }),
      })),
      workers: [100],
      levels: [{ loadQps: 1, stages: names.slice(0, count).map(() => [1, 1] as const) }],
    });
  expect(refusal(bundle(23))).toBe("accepted");
  expect(refusal(bundle(24))).toContain("tasks: expected at most 256, got 277 edges");
});

test("refuses an envelope of more windows than a minute has room for", () => {
  const windows = Array.from({ length: 65 }, (_, index) => 60_000 - 64 + index);
  const path = "levels[0].sample.envelope";
  const envelope = { windowMs: doubles(...windows), requests: doubles(...windows.map(() => 9)) };
  expect(refusal(sampleWith(path, envelope))).toContain("expected [at most 64], got [65]");
});

test("a time so short that no throughput could be computed of it is refused", () => {
  const tiny = changedAt(
    inferlineSample(),
    "tasks[3].variants[0].profiles[0].serviceTimes.decisionMs.data",
    Float64Array.from({ length: 8 }, () => 5e-324),
  ) as object;
  const levels = inferlineSample().levels.map((level) => ({
    ...level,
    plan: {
      ...level.plan,
      stages: level.plan.stages.map((one, task) =>
        task === 3 ? { ...one, latencyMs: 5e-324 } : one,
      ),
    },
  }));
  expect(refusal({ ...tiny, levels })).toContain(
    "expected a number from 0.001 to 1000000000000000",
  );
});
