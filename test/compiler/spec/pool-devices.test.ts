import { expect, test } from "vitest";
import { loadApplication } from "../../../compiler/spec/load-application.ts";
import { profileFor, profileRemedy } from "../../../compiler/spec/pool-profiles.ts";
import { folderOf, mistakeOf } from "./spec-folder.ts";

interface Asked {
  readonly pools: string;
  /** Profiles of the only variant, by file, beside their latency. */
  readonly profiles: Readonly<Record<string, object>>;
  readonly policy?: string;
}

const CPU = { hardware: "xeon", device: { provider: "cpu", name: "Xeon", driver: null } };
const GPU = { hardware: "shader", device: { provider: "webgpu", name: "Shader", driver: "5" } };
const A100 = { hardware: "a100", device: { provider: "cuda", name: "A100", driver: "550" } };
const T4 = { hardware: "t4", device: { provider: "cuda", name: "T4", driver: "550" } };

function folderFor({ pools, profiles, policy = "method: ramsis" }: Asked): string {
  const files = Object.entries(profiles).map(([name, head], index) => {
    const { start, ...own } = head as { readonly start?: object };
    const measured = { latencyMs: { "1": 20 + index }, ...(start === undefined ? {} : { start }) };
    const profile = { format: "latency-profile/1", ...own, variants: { small: measured } };
    return [`${name}.json`, JSON.stringify(profile)];
  });
  const references = Object.keys(profiles).map((name) => `${name}.json#small`);
  const spec = `version: 1
application: demo
slo: { latency: 150 ms }
workload: { arrivals: { process: poisson }, loads: [10] }
cluster:
  pools: [${pools}]
tasks:
  - name: classify
    variants:
      - { name: small, accuracy: 0.5, profile: [${references.join(", ")}] }
policy: { ${policy} }
`;
  return folderOf({ "app.yaml": spec, ...Object.fromEntries(files) });
}

function load(asked: Asked) {
  return loadApplication(`${folderFor(asked)}/app.yaml`).application;
}

function mistake(asked: Asked): string {
  const folder = folderFor(asked);
  return mistakeOf(folder, () => loadApplication(`${folder}/app.yaml`));
}

/** Files that hold for the pools; null where none does. */
function chosen(asked: Asked): (string | null)[] {
  const { cluster, tasks } = load(asked);
  const variant = tasks[0]?.variants[0];
  if (variant === undefined) throw new Error("the spec has a variant");
  return cluster.pools.map((pool) => profileFor(variant, pool)?.file ?? null);
}

test("a pool has as many workers as it names devices, unless it says more", () => {
  const pools =
    "{ name: a, device: 'cuda:0,1' }, { name: b, device: webgpu }, { name: c, workers: 3 }";
  const { cluster } = load({ pools, profiles: { gpu: A100, shader: GPU, cpu: CPU } });
  expect(cluster.pools.map(({ workers }) => workers)).toEqual([2, 1, 3]);
  expect(cluster.pools[0]).toMatchObject({ device: "cuda:0,1", provider: "cuda" });
  expect(mistake({ pools: "{ name: a }", profiles: { cpu: CPU } })).toMatch(
    /pools\[0\].*missing; expected a whole number from 1 to 10000/,
  );
});

test.each(["gpu", "cuda:x", "webgpu:0", "cpu:0", "cuda:0,0", "cuda:", ""])(
  "refuses the device %j by what is allowed",
  (device) => {
    const found = mistake({ pools: `{ name: a, device: "${device}" }`, profiles: { cpu: CPU } });
    expect(found).toContain("expected cpu, cuda, tensorrt or webgpu; cuda and tensorrt also");
  },
);

test("a pool takes what was measured on its kind of device, one without a device the rest", () => {
  const profiles = { cpu: CPU, gpu: GPU };
  expect(
    chosen({ profiles, pools: "{ name: a, device: webgpu }, { name: b, workers: 2 }" }),
  ).toEqual(["gpu.json", "cpu.json"]);
  // Of several, where nothing is said, what was measured on processors.
  expect(chosen({ profiles, pools: "{ name: b, workers: 2 }" })).toEqual(["cpu.json"]);
  expect(chosen({ profiles: { gpu: GPU }, pools: "{ name: b, workers: 2 }" })).toEqual([
    "gpu.json",
  ]);
  // A profile of old says no device: it is of processors, unless its hardware is named.
  const old = { old: { hardware: "xeon" }, gpu: GPU };
  const pools = "{ name: a, device: webgpu }, { name: b, workers: 2 }, { name: c, device: cuda }";
  expect(chosen({ profiles: old, pools })).toEqual(["gpu.json", "old.json", null]);
  const named = "{ name: c, hardware: xeon, device: cuda }";
  expect(chosen({ profiles: old, pools: named })).toEqual(["old.json"]);
});

test("names of hardware choose among profiles of one kind, and two kinds may share one", () => {
  const profiles = { a: A100, t: T4 };
  const pools =
    "{ name: x, device: cuda, hardware: t4 }, { name: y, device: cuda, hardware: a100 }";
  expect(chosen({ profiles, pools })).toEqual(["t.json", "a.json"]);
  const same = { cpu: CPU, gpu: { ...GPU, hardware: "xeon" } };
  const both =
    "{ name: x, hardware: xeon, workers: 1 }, { name: y, hardware: xeon, device: webgpu }";
  expect(chosen({ profiles: same, pools: both })).toEqual(["cpu.json", "gpu.json"]);
  expect(mistake({ profiles: { a: CPU, b: CPU }, pools: "{ name: x, workers: 1 }" })).toContain(
    'two profiles are of the hardware "xeon" on cpu; expected one for each',
  );
});

test("two profiles that fit a pool are refused with the pool, its device and both of them", () => {
  expect(
    mistake({ profiles: { a: A100, t: T4 }, pools: "{ name: x, device: 'cuda:1' }" }),
  ).toContain(
    'tasks[0].variants[0].profile: pool x (cuda:1): expected one profile of "small" for it, got ' +
      '2: "a100" on cuda, "t4" on cuda; name the hardware of one of them in the pool',
  );
});

test("a pool of another provider than the hardware it names is refused", () => {
  const pools = "{ name: x, hardware: xeon, device: webgpu }";
  expect(mistake({ profiles: { cpu: CPU }, pools })).toContain(
    'pool x (xeon, on webgpu) uses webgpu, but "small" was measured on cpu ("xeon" on cpu); ' +
      "expected a profile of webgpu: stratagem profile --device webgpu",
  );
});

test("variants of a pool that were measured on different devices are refused", () => {
  const folder = folderOf({
    "app.yaml": `version: 1
application: demo
slo: { latency: 150 ms }
workload: { arrivals: { process: poisson }, loads: [10] }
cluster: { pools: [{ name: x, device: cuda }] }
tasks:
  - name: classify
    variants:
      - { name: s, accuracy: 0.5, profile: a.json#v }
      - { name: l, accuracy: 0.6, profile: t.json#v }
policy: { method: ramsis }
`,
    ...Object.fromEntries(
      Object.entries({ a: A100, t: T4 }).map(([name, head]) => [
        `${name}.json`,
        JSON.stringify({
          format: "latency-profile/1",
          ...head,
          variants: { v: { latencyMs: { "1": 20 } } },
        }),
      ]),
    ),
  });
  expect(mistakeOf(folder, () => loadApplication(`${folder}/app.yaml`))).toContain(
    "tasks[0].variants[1].profile: pool x (cuda): expected all its variants measured on the same " +
      'device, got "s" on cuda (A100, driver 550) and "l" on cuda (T4, driver 550)',
  );
});

test("what profiles measured of starts is the default of the time that one takes", () => {
  const start = { processMs: 300, loadMs: 200, warmMs: 1500 };
  const slow = { ...GPU, start: { processMs: 100, loadMs: 2000, warmMs: 9000 } };
  const profiles = { cpu: { ...CPU, start }, gpu: slow };
  const one = "{ name: a, workers: 2, pricePerHour: 1 }";
  const two = `${one}, { name: b, device: webgpu, pricePerHour: 1 }`;
  const policyOf = (pools: string, policy: string) => load({ pools, profiles, policy }).policy;
  expect(policyOf(one, "method: inferline")).toMatchObject({
    activationMs: 2000,
    startFrom: "profiles",
  });
  expect(policyOf(two, "method: inferline")).toMatchObject({ activationMs: 11_100 });
  expect(policyOf(two, "method: loki")).toMatchObject({
    modelLoadMs: 11_000,
    startFrom: "profiles",
  });
  const stated = policyOf(two, "method: loki, modelLoad: 150 ms");
  expect(stated).toMatchObject({ modelLoadMs: 150 });
  expect(stated).not.toHaveProperty("startFrom");
  const unmeasured = load({ pools: one, profiles: { cpu: CPU }, policy: "method: inferline" });
  expect(unmeasured.policy).toMatchObject({ activationMs: 5000 });
  expect(unmeasured.policy).not.toHaveProperty("startFrom");
});

test.each([
  [{ provider: "vulkan", name: "x", driver: null }, "one of"],
  [{ provider: "webgpu", driver: null }, "the name of a device"],
  [{ provider: "webgpu", name: "x\u0007", driver: null }, "the name of a device"],
  [{ provider: "webgpu", name: "x", driver: 5 }, "the version of a driver"],
  [{ provider: "webgpu", name: "x", driver: null, options: { a: 1 } }, "a list of texts"],
])("refuses the device %j of a profile", (device, allowed) => {
  const profiles = { gpu: { hardware: "x", device } };
  expect(mistake({ profiles, pools: "{ name: a, workers: 1 }" })).toContain(allowed);
});

test("says how a pool gets the profile that it lacks", () => {
  const { cluster } = load({ pools: "{ name: a, device: webgpu }", profiles: { gpu: GPU } });
  const [pool] = cluster.pools;
  if (pool === undefined) throw new Error("there is one");
  expect(profileRemedy(pool)).toBe("; expected one of webgpu: stratagem profile --device webgpu");
  expect(profileRemedy({ ...pool, hardware: "a100" })).toBe("");
});
