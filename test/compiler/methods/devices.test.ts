import { expect, test } from "vitest";
import { openLevelSolver } from "../../../compiler/commands/compile/level-solvers.ts";
import { diffBundles } from "../../../compiler/gate/differences.ts";
import { compile } from "../../../compiler/levels/compile.ts";
import { methodOf } from "../../../compiler/methods/registry.ts";
import { InputError } from "../../../compiler/spec/document/input-error.ts";
import { loadApplication } from "../../../compiler/spec/load-application.ts";
import type { Bundle } from "../../../runtime/bundle/schema.ts";
import { decodeBundle, encodeBundle } from "../../../runtime/bundles/checked-bundle.ts";
import { inspectBundle } from "../../../runtime/bundles/inspect.ts";
import { methodOf as runtimeMethodOf } from "../../../runtime/methods/registry.ts";
import { writeSpec } from "../../support/spec-file.ts";

const SHADER = { provider: "webgpu", name: "Shader 9", driver: "5.0" };
const XEON = { provider: "cpu", name: "Xeon", driver: null };
const START = { processMs: 100, loadMs: 50, warmMs: 1850 };

/** A GPU is quick with large models and pays for each start; the processor cannot run `large`. */
const CPU_PROFILE = {
  format: "latency-profile/1",
  hardware: "xeon",
  device: XEON,
  variants: {
    small: { latencyMs: { "1": 4, "2": 7, "4": 13 }, start: { ...START, warmMs: 10 } },
    large: { latencyMs: { "1": 300, "2": 600 } },
  },
};
const GPU_MS = { "1": 8, "2": 9, "4": 11, "8": 16 };
const LAYERS = { ms: [4, 4], overheadMs: 0 };
const GPU_PROFILE = {
  format: "latency-profile/1",
  hardware: "shader",
  device: SHADER,
  variants: {
    small: { latencyMs: { "1": 6, "2": 7, "4": 9 } },
    large: { latencyMs: GPU_MS, byCores: { "1": GPU_MS }, layers: LAYERS, start: START },
  },
};
const BESIDE = { "cpu.json": CPU_PROFILE, "gpu.json": GPU_PROFILE };
const POOLS = [
  { name: "cpu", workers: 3, pricePerHour: 0.1 },
  { name: "gpu", device: "webgpu", workers: 2, pricePerHour: 1 },
];

const variant = (name: string, accuracy = 0.9) => ({
  name,
  accuracy,
  profile: [`cpu.json#${name}`, `gpu.json#${name}`],
});

function specOf(policy: object, tasks: readonly object[], pools: readonly object[]) {
  return {
    version: 1,
    application: "devices",
    slo: { latency: "100 ms", percentile: 99 },
    workload: { arrivals: { process: "poisson" }, loads: [40] },
    cluster: { pools },
    tasks,
    policy,
  };
}

const POOL = { jobs: 1, onProgress: () => {}, signal: new AbortController().signal };
const FILE = { byteCount: 1, sha256: "0".repeat(64) };
const isFew = (rate: unknown) => typeof rate === "number" && rate < 0.02;

const CHAIN = [
  { name: "gate", variants: [variant("small")], to: [{ task: "name" }] },
  { name: "name", variants: [variant("large")] },
];

async function compiled(spec: object, beside: object = BESIDE): Promise<Bundle> {
  const loaded = loadApplication(writeSpec(spec, { ...beside }));
  const { bundle } = await compile(loaded, {
    compiler: "test",
    models: new Map(),
    opened: null,
    openLevelSolver: (frame) => openLevelSolver(frame, { isQuick: true }, POOL, () => 0),
  });
  return decodeBundle(encodeBundle(bundle));
}

async function simulated(bundle: Bundle) {
  const method = await methodOf(bundle);
  const request = {
    arrivals: { kind: "poisson", qps: 40 },
    durationMs: 5000,
    seed: 1,
    serviceTimes: "p95",
    fanout: "rounded",
    stations: {},
    baseline: null,
  } as const;
  return (await method.simulate(bundle, request, { ...POOL, nowMs: () => 0 })).json;
}

async function pageOf(bundle: Bundle): Promise<string> {
  const method = await methodOf(bundle);
  const { page } = await method.report(bundle, {
    path: "bundle.msgpack",
    file: FILE,
    simulations: [],
    frontierQps: false,
    signal: POOL.signal,
    progress: () => async () => {},
  });
  return page.replace(/\s+/g, " ");
}

const onOne = (device: string) => [{ name: "gpu", device, workers: 2, cores: 1, pricePerHour: 1 }];

test("InferLine places the large model on the GPU and the small one on processors", async () => {
  const policy = { method: "inferline", sampleDuration: "5 s" };
  const bundle = await compiled(specOf(policy, CHAIN, POOLS));
  if (bundle.method !== "inferline") throw new Error("the method is kept");
  expect(bundle.levels[0]?.feasible).toBe(true);
  expect(bundle.levels[0]?.plan.stages.map(({ pool }) => pool)).toEqual([0, 1]);
  expect(bundle.cluster.pools).toMatchObject([
    { name: "cpu", measuredOn: XEON },
    { name: "gpu", device: "webgpu", measuredOn: SHADER },
  ]);
  expect(bundle.cluster.pools[0]).not.toHaveProperty("device");
  expect(bundle.policy).toMatchObject({ activationMs: 2000, startFrom: "profiles" });
  expect(await simulated(bundle)).toMatchObject({ violationRate: expect.toSatisfy(isFew) });
  const told = runtimeMethodOf(bundle).summary(bundle, inspectBundle(bundle, FILE));
  expect(told).toContain("pool cpu: 3 workers of cpu, measured on cpu, Xeon, 0.1 an hour each");
  expect(told).toContain(
    "pool gpu: 2 workers of gpu on webgpu, measured on Shader 9, driver 5.0, 1 an hour each",
  );
  expect(told).toContain("a replica comes up in 2000 ms as the profiles measured");
  const page = await pageOf(bundle);
  expect(page).toContain("gpu: 2 workers on webgpu, measured on Shader 9, driver 5.0 at 1 an hour");
  expect(page).toContain("2,000 ms as the profiles measured");
});

test("Loki runs one plan on both pools, and a model load takes what was measured", async () => {
  const tasks = [
    { name: "gate", variants: [variant("small")], to: [{ task: "name" }] },
    { name: "name", variants: [variant("large")] },
  ];
  const pools = [POOLS[0], { ...POOLS[1], workers: 1 }];
  const bundle = await compiled(specOf({ method: "loki" }, tasks, pools as object[]));
  if (bundle.method !== "loki") throw new Error("the method is kept");
  const used = new Set(bundle.levels[0]?.plan.instances.map(({ pool }) => pool));
  expect([...used].sort()).toEqual([0, 1]);
  expect(bundle.policy).toMatchObject({ modelLoadMs: 1900, startFrom: "profiles" });
  expect(await simulated(bundle)).toMatchObject({ violationRate: expect.toSatisfy(isFew) });
  const page = await pageOf(bundle);
  expect(page).toContain(
    "cpu: 3 servers, measured on cpu, Xeon; gpu: 1 server on webgpu, measured",
  );
  expect(runtimeMethodOf(bundle).summary(bundle, inspectBundle(bundle, FILE))).toContain(
    "pool gpu: 1 server on webgpu, measured on Shader 9, driver 5.0",
  );
});

test.each([
  ["ramsis", { method: "ramsis", maxQueue: 8, discretization: { kind: "fixed", steps: 20 } }],
  ["themis", { method: "themis", maxCores: 1, maxBatch: 8 }],
  ["accordion", { method: "accordion", maxDepth: 2, maxBatch: 8, meanBatch: 2 }],
])("%s serves one pool on a GPU, and the bundle says which", async (_, policy) => {
  const tasks = [{ name: "name", variants: [variant("large")] }];
  const bundle = await compiled(specOf(policy, tasks, onOne("webgpu")));
  expect(bundle.cluster.pools).toMatchObject([{ device: "webgpu", measuredOn: SHADER }]);
  expect(bundle.levels[0]?.feasible).toBe(true);
  expect(await simulated(bundle)).toMatchObject({ violationRate: expect.toSatisfy(isFew) });
  const told = runtimeMethodOf(bundle).summary(bundle, inspectBundle(bundle, FILE));
  expect(told).toContain(" on webgpu, measured on Shader 9, driver 5.0");
  expect(inspectBundle(bundle, FILE).cluster.pools[0]?.measuredOn).toEqual(SHADER);
});

test("a bundle of another device differs by it", async () => {
  const policy = { method: "ramsis", maxQueue: 4, discretization: { kind: "fixed", steps: 10 } };
  const tasks = [{ name: "name", variants: [variant("small")] }];
  const before = await compiled(specOf(policy, tasks, [{ name: "gpu", workers: 2 }]));
  const after = await compiled(
    specOf(policy, tasks, [{ name: "gpu", device: "webgpu", workers: 2 }]),
  );
  const { fields } = diffBundles(before, after);
  expect(fields).toContainEqual({
    path: "cluster.pools[gpu].device",
    before: undefined,
    after: "webgpu",
  });
  expect(fields).toContainEqual({
    path: "cluster.pools[gpu].measuredOn.name",
    before: "Xeon",
    after: "Shader 9",
  });
});

test("profiles without devices and starts leave bundles as they were", async () => {
  const old = { ...CPU_PROFILE, device: undefined, variants: { small: { latencyMs: { "1": 4 } } } };
  const tasks = [{ name: "gate", variants: [{ ...variant("small"), profile: "old.json#small" }] }];
  const pools = [{ name: "cpu", workers: 2, pricePerHour: 1 }];
  const policy = { method: "inferline", sampleDuration: "5 s" };
  const bundle = await compiled(specOf(policy, tasks, pools), { "old.json": old });
  expect(Object.keys(bundle.cluster.pools[0] ?? {})).toEqual([
    "name",
    "hardware",
    "workers",
    "cores",
    "pricePerHour",
  ]);
  expect(bundle.policy).not.toHaveProperty("startFrom");
});

test.each([
  [
    "ramsis",
    /the pool cannot run "large": its profiles are of "xeon" on cpu, "shader" on webgpu, /,
  ],
  ["loki", /no pool can run "large": its profiles are of "xeon" on cpu, "shader" on webgpu, and /],
  ["inferline", /no pool can run "name": its profiles are of "xeon" on cpu, "shader" on webgpu, /],
  ["themis", /the pool cannot run "name": its profiles are of "xeon" on cpu, "shader" on webgpu, /],
  ["accordion", /pool gpu \(cuda:0\) cannot run "large", whose profiles are of "xeon" on cpu, /],
])("%s names pool, device and variant where nothing was measured on it", async (method, says) => {
  const tasks = [{ name: "name", variants: [variant("large")] }];
  const refused = compiled(specOf({ method }, tasks, onOne("cuda:0")));
  await expect(refused).rejects.toThrow(InputError);
  await expect(refused).rejects.toThrow(says);
  await expect(refused).rejects.toThrow(/gpu \(cuda:0\)/);
});
