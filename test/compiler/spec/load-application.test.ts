import { createHash } from "node:crypto";
import { join } from "node:path";
import { expect, test } from "vitest";
import { loadApplication } from "../../../compiler/spec/load-application.ts";
import { edited, folderOf, mistakeOfSpec, PIPELINE, PROFILE, SPEC } from "./spec-folder.ts";

const POISSON = "{ process: poisson }";

function load(files: Readonly<Record<string, string>>) {
  return loadApplication(join(folderOf(files), "app.yaml"));
}

test("brings a spec and its profile into one unit system with every default explicit", () => {
  const { application } = load({ "app.yaml": SPEC, "profile.json": PROFILE });
  expect(application).toMatchObject({
    name: "demo",
    slo: { latencyMs: 150, maxViolationRate: null, percentile: 99 },
    arrivals: { process: "poisson" },
    loads: { kind: "list", qps: [100, 200] },
    cluster: {
      pools: [{ name: "default", hardware: null, workers: 4, cores: null, pricePerHour: null }],
      communicationLatencyMs: 0,
    },
  });
  const [small, large] = application.tasks[0]?.variants ?? [];
  expect(small).toMatchObject({ name: "small", accuracy: 0.58, model: null, fanout: null });
  expect(large).toMatchObject({ name: "large", accuracy: 0.72 });
});

test("reads the same application from JSON", () => {
  const json = JSON.stringify({
    version: 1,
    application: "demo",
    slo: { latency: "0.15 s" },
    workload: { arrivals: { process: "poisson" }, loads: ["6000 / minute", "2 * 100 / s"] },
    cluster: { workers: 4 },
    tasks: [
      {
        name: "classify",
        variants: [
          { name: "small", accuracy: "58%", profile: "profile.json#small" },
          { name: "large", profile: "profile.json#large" },
        ],
      },
    ],
    policy: { method: "ramsis" },
  });
  const fromYaml = load({ "app.yaml": SPEC, "profile.json": PROFILE });
  const fromJson = load({ "app.yaml": json, "profile.json": PROFILE });
  expect(fromJson.application).toEqual(fromYaml.application);
});

test("keeps the accuracy of the spec over that of the profile", () => {
  const spec = edited(SPEC, "name: large,", "name: large, accuracy: 70%,");
  const { application } = load({ "app.yaml": spec, "profile.json": PROFILE });
  expect(application.tasks[0]?.variants[1]?.accuracy).toBe(0.7);
});

test("reads pools, a pass-through root, shares and fan-out", () => {
  const pools = "pools: [{ name: k80, hardware: k80, workers: 20, cores: 4, pricePerHour: 0.634 }]";
  const spec = edited(PIPELINE, "workers: 4", `${pools}\n  communicationLatency: 1.5 ms`);
  const { application } = load({ "app.yaml": spec, "profile.json": PROFILE });
  expect(application.cluster).toEqual({
    pools: [{ name: "k80", hardware: "k80", workers: 20, cores: 4, pricePerHour: 0.634 }],
    communicationLatencyMs: 1.5,
  });
  const [source, detect] = application.tasks;
  expect(source).toEqual({
    name: "source",
    passThrough: true,
    branch: "independent",
    variants: [],
    to: [
      { task: "detect", share: 1, inputs: null, count: null },
      { task: "caption", share: 0.5, inputs: null, count: null },
    ],
  });
  expect(detect?.variants[0]?.fanout).toEqual({ identify: 2.5 });
});

test("lists every input once, sorted, relative to the spec, with its SHA-256", () => {
  const spec = edited(
    edited(SPEC, POISSON, "{ process: trace, file: ../day.txt }"),
    "profile: profile.json#small",
    "model: models/small.onnx, profile: profile.json#small",
  );
  const folder = folderOf({
    "specs/app.yaml": spec,
    "specs/profile.json": PROFILE,
    "specs/models/small.onnx": "model",
    "day.txt": "1\n",
  });
  const { application, inputs } = loadApplication(join(folder, "specs/app.yaml"));
  expect(inputs.map((input) => input.path)).toEqual([
    "../day.txt",
    "app.yaml",
    "models/small.onnx",
    "profile.json",
  ]);
  const sha256 = createHash("sha256").update("model").digest("hex");
  expect(inputs[2]?.sha256).toBe(sha256);
  expect(application.arrivals).toMatchObject({
    process: "trace",
    file: join(folder, "day.txt"),
    trace: { kind: "rates", qps: Float64Array.of(1) },
  });
  expect(application.tasks[0]?.variants[0]?.model).toBe(join(folder, "specs/models/small.onnx"));
});

test("freezes everything it returns", () => {
  const loaded = load({ "app.yaml": SPEC, "profile.json": PROFILE });
  const open: unknown[] = [loaded];
  for (let value = open.pop(); value !== undefined; value = open.pop()) {
    if (typeof value !== "object" || value === null) continue;
    expect(Object.isFrozen(value)).toBe(true);
    open.push(...Object.values(value));
  }
});

test("allows an SLO that only the fastest variant meets, and unknown latency at batch 1", () => {
  const spec = edited(SPEC, "150 ms", "20 ms");
  expect(mistakeOfSpec(spec, PROFILE)).toBe("no mistake");
  const profile = edited(PROFILE, '"1": 20, ', "");
  expect(mistakeOfSpec(edited(SPEC, "150 ms", "10 ms"), profile)).toBe("no mistake");
});
