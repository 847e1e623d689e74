import { expect, test } from "vitest";
import { validateBundle } from "../../../runtime/bundles/checked-bundle.ts";
import { withBytes } from "../../support/bundle-fixtures.ts";
import { changedAt, refusal } from "../../support/refused-bundle.ts";
import { sampleBundle } from "../../support/sample-bundle.ts";
import { tinyBundle } from "../../support/tiny-bundle.ts";

const sampleWith = (path: string, value: unknown): unknown =>
  changedAt(sampleBundle(), path, value);

test("accepts the samples, in memory and as decoded", () => {
  expect(validateBundle(sampleBundle())).toEqual(sampleBundle());
  expect(validateBundle(withBytes(sampleBundle()))).toEqual(sampleBundle());
  expect(refusal(tinyBundle())).toBe("accepted");
});

const XEON = { provider: "cpu", name: "Xeon", driver: null };

test("a pool says what it is on, and was measured on the same provider", () => {
  const onPool = (device: string, provider: string) => {
    const [pool] = sampleBundle().cluster.pools;
    return refusal(
      sampleWith("cluster.pools[0]", { ...pool, device, measuredOn: { ...XEON, provider } }),
    );
  };
  expect(onPool("cuda:MIG-a/1/0,GPU-7", "cuda")).toBe("accepted");
  expect(onPool("cpu", "cpu")).toBe("accepted");
  expect(onPool("webgpu", "cpu")).toContain(
    'cluster.pools[0].measuredOn.provider: expected "webgpu", as the device of the pool, got "cpu"',
  );
  expect(refusal(sampleWith("cluster.pools[0].measuredOn", XEON))).toBe("accepted");
  expect(refusal(sampleWith("cluster.pools[0].device", "webgpu"))).toBe("accepted");
});

test("accepts every form of arrivals", () => {
  expect(refusal(sampleWith("arrivals", { process: "gamma", cv2: 4 }))).toBe("accepted");
  expect(
    refusal(sampleWith("arrivals", { process: "trace", file: "../day.csv", dispersion: 1 })),
  ).toBe("accepted");
});

test.each<[string, unknown, string]>([
  ["colour", "red", 'got the key "colour"'],
  ["application", undefined, 'payload: expected the key "application"'],
  ["application", "", "application: expected a text of 1 to 1024 characters"],
  ["application", "x".repeat(1025), "application: expected a text of 1 to 1024 characters"],
  ["application", "a\nb", 'without control characters, got "a�b"'],
  ["application", "\ud800", "without control characters"],
  ["application", 7n, "got 7"],
  [
    "method",
    "clipper",
    'method: expected "ramsis" or "loki" or "inferline" or "themis" or "accordion", got "clipper"',
  ],
  ["slo", null, "slo: expected a map, got null"],
  ["slo", new Date(0), 'slo: expected the key "latencyMs"'],
  ["slo.latencyMs", 0, "a number from 0.0"],
  ["slo.latencyMs", Number.POSITIVE_INFINITY, "got Infinity"],
  ["slo.maxViolationRate", 1.01, "slo.maxViolationRate: expected a number from 0 to 1"],
  ["slo.maxViolationRate", -0, "got -0"],
  ["slo.percentile", 100, "slo.percentile: expected a number above 0 and below 100"],
  ["arrivals", null, "arrivals: expected a map"],
  ["arrivals.process", "pareto", 'expected "poisson"'],
  ["arrivals", { process: "gamma", cv2: 0 }, "arrivals.cv2"],
  ["arrivals", { process: "trace", file: "/etc/trace", dispersion: 1 }, "relative path"],
  ["cluster.pools", [], "cluster.pools: expected an array of 1, got 0 items"],
  ["cluster.pools", {}, "expected an array of 1, got a map"],
  ["cluster.pools[0].workers", 0, "an integer from 1"],
  ["cluster.pools[0].workers", 1.5, "an integer from 1"],
  ["cluster.pools[0].cores", "4", 'got "4"'],
  ["cluster.pools[0].device", null, "cluster.pools[0].device: expected a text"],
  ["cluster.pools[0].device", "gpu", "expected cpu, cuda, tensorrt or webgpu; cuda and"],
  ["cluster.pools[0].device", "webgpu:0", "cluster.pools[0].device: expected cpu, cuda,"],
  ["cluster.pools[0].device", "cuda:0,0", 'got "cuda:0,0"'],
  ["cluster.pools[0].measuredOn", { provider: "cpu", name: "x" }, 'the key "driver"'],
  ["cluster.pools[0].measuredOn", { ...XEON, provider: "vulkan" }, 'got "vulkan"'],
  ["cluster.pools[0].measuredOn", { ...XEON, name: "x".repeat(1025) }, "1 to 1024 characters"],
  ["cluster.pools[0].measuredOn", { ...XEON, name: "a\nb" }, "without control characters"],
  ["cluster.pools[0].measuredOn", { ...XEON, driver: 5 }, "measuredOn.driver: expected a text"],
  ["tasks[0].variants", [], "an array of 1 to 1000"],
  ["tasks[0].variants[1].accuracy", Number.NaN, "tasks[0].variants[1].accuracy"],
  ["tasks[0].variants[1].dominated", 1, "true or false"],
  ["tasks[0].variants[0].model.file", "../small.onnx", "a file name without directories"],
  ["tasks[0].variants[0].model.file", "..", "a file name without directories"],
  ["tasks[0].variants[0].model.sha256", "2".repeat(63), "a SHA-256"],
  ["tasks[0].variants[0].model.inputs[0].shape[0]", 0, "shape[0]: expected an integer from 1"],
  ["tasks[0].serviceTimes.decisionMs.data[3]", 0, "decisionMs.data[3]"],
  ["tasks[0].serviceTimes.decisionMs.data[3]", Number.NaN, "got NaN"],
  ["tasks[0].serviceTimes.decisionMs.dtype", "uint16", 'expected "float64"'],
  ["tasks[0].serviceTimes.decisionMs.data", new Float64Array(9), "80 bytes, as the shape says"],
  ["tasks[0].serviceTimes.decisionMs.data", [1, 2], "got an array"],
  ["policy.maxQueue", -4, "policy.maxQueue"],
  ["policy.balancer", "random", '"round-robin"'],
  ["policy.discretization.kind", "log", '"fixed"'],
  ["decisionSpace.slackMs.shape", [7, 1], "an array of 1, got 2 items"],
  ["decisionSpace.slackMs.shape", [-7], "slackMs.shape[0]"],
  ["levels", [], "an array of 1 to 10000"],
  ["levels[1].expected.violationRate", -0.1, "levels[1].expected.violationRate"],
  ["levels[1].solve.iterations", 1.5, "levels[1].solve.iterations"],
  ["provenance.inputs[0].path", "a\\b", "forward slashes"],
])("refuses %s = %o for its shape", (path, value, message) => {
  const found = refusal(sampleWith(path, value));
  expect(found).toMatch(/^BUNDLE_SCHEMA [^\n]*; compile the bundle again$/);
  expect(found).toContain(message);
});

test.each<[string, unknown, string]>([
  [
    "tasks[0].variants[1].name",
    "small",
    'variants[1].name: expected a name of its own, got "small"',
  ],
  ["tasks[0].serviceTimes.decisionMs.shape", [5, 2], "expected [2,2], got [5,2]"],
  ["tasks[0].serviceTimes.decisionMs.data[1]", 1, "decisionMs.data[1]: expected at least 13"],
  ["tasks[0].serviceTimes.quantiles.p50Ms.shape", [5, 2], "p50Ms.shape: expected [2,5]"],
  ["policy.maxQueue", 5, "decisionSpace.maxQueue: expected 5, policy.maxQueue, got 4"],
  ["policy.discretization.steps", 7, "decisionSpace.slackMs.shape: expected [8], got [7]"],
  ["decisionSpace.slackMs.data[0]", -0, "slackMs.data[0]: expected 0, got -0"],
  ["decisionSpace.slackMs.data[2]", 20, "slackMs.data[2]: expected more than 20, got 20"],
  ["decisionSpace.slackMs.data[2]", Number.NaN, "got NaN"],
  ["decisionSpace.slackMs.data[6]", 121, "expected 120, slo.latencyMs, got 121"],
  ["decisionSpace.actions.shape", [20, 1], "actions.shape"],
  ["decisionSpace.actions.data[2]", 2, "actions.data[2]: expected a variant from 0 to 1, got 2"],
  ["decisionSpace.actions.data[3]", 6, "actions.data[3]: expected a batch size from 1 to 5, got 6"],
  ["decisionSpace.actions.data[3]", 0, "got 0"],
  ["levels[1].loadQps", 40, "levels[1].loadQps: expected more than 40, the level before, got 40"],
  ["levels[0].capacityQps", 39, "levels[0].feasible"],
  ["levels[0].expected.violationRate", 0.06, "levels[0].feasible"],
  ["levels[1].actionByState.shape", [7, 5], "levels[1].actionByState.shape: expected [5,7]"],
  ["levels[1].actionByState.data[17]", 10, "data[17]: expected an action for 3 queued, got 10"],
  ["levels[1].actionByState.data[17]", 0xffff, "got 65535, which is not an action"],
  ["levels[1].actionByState.data[17]", 1, "got action 1, a batch of 2"],
  ["levels[1].actionByState.data[17]", 3, "got action 3, a batch of 4"],
])("refuses %s = %o for what it contradicts", (path, value, message) => {
  const found = refusal(sampleWith(path, value));
  expect(found).toMatch(/^BUNDLE_SEMANTICS [^\n]*; compile the bundle again$/);
  expect(found).toContain(message);
});

test("a full queue may run a smaller batch than it holds", () => {
  expect(refusal(sampleWith("levels[0].actionByState.data[34]", 0))).toBe("accepted");
});

test.each([null, undefined, 1, "bundle", [], new Uint8Array(4)])(
  "refuses %o as a bundle",
  (value) => {
    expect(refusal(value)).toMatch(/^BUNDLE_SCHEMA payload: expected a map/);
  },
);
