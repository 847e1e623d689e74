import { expect, test } from "vitest";
import { loki } from "../../../../../compiler/methods/loki/solve/loki.ts";
import { pipelineProblem } from "../../../../../compiler/methods/loki/solve/problem.ts";
import {
  type LoadedApplication,
  loadApplication,
} from "../../../../../compiler/spec/load-application.ts";
import { ofMethod } from "../../../../support/of-method.ts";
import { writeSpec } from "../../../../support/spec-file.ts";

const PROFILE = {
  format: "latency-profile/1",
  hardware: "k80",
  variants: {
    fast: { accuracy: 0.6, latencyMs: { 1: 10, 4: 20 } },
    slow: { accuracy: 0.9, latencyMs: { 1: 40, 4: 100 } },
  },
};
const ON_V100 = { ...PROFILE, hardware: "v100", variants: { fast: { latencyMs: { 1: 3 } } } };

function load(tasks: unknown[], overrides: Record<string, unknown> = {}): LoadedApplication {
  const spec = {
    version: 1,
    application: "pipeline",
    slo: { latency: "400 ms" },
    workload: { arrivals: { process: "poisson" }, loads: [10] },
    cluster: { workers: 4, communicationLatency: "5 ms" },
    tasks,
    policy: { method: "loki" },
    ...overrides,
  };
  return loadApplication(writeSpec(spec, { "k80.json": PROFILE, "v100.json": ON_V100 }));
}

const variant = (name: string, more: object = {}) => ({
  name,
  profile: `k80.json#${name}`,
  ...more,
});

/** source -> detect -> pass -> { cars, faces }, source -> caption */
const FOREST = [
  { name: "source", passThrough: true, to: [{ task: "detect" }, { task: "caption", share: 0.5 }] },
  {
    name: "detect",
    variants: [variant("fast", { fanout: { pass: 3 } }), variant("slow", { fanout: { pass: 4 } })],
    to: [{ task: "pass", share: 0.5 }],
  },
  { name: "pass", passThrough: true, to: [{ task: "cars", share: 0.6 }, { task: "faces" }] },
  { name: "caption", variants: [variant("slow")] },
  { name: "faces", variants: [variant("fast")] },
  { name: "cars", variants: [variant("fast"), variant("slow")] },
];

function mistakes(loaded: LoadedApplication): string[] {
  return [...loki.mistakes(ofMethod("loki", loaded.application))].map(
    ({ code, message }) => `${code} ${message}`,
  );
}

test("leaves out what only passes on, and multiplies shares and fan-outs along the way", () => {
  const loaded = load(FOREST);
  expect(mistakes(loaded)).toEqual([]);
  const frame = loki.frame(ofMethod("loki", loaded.application), new Map());
  expect(frame.tasks.map(({ name, parent, entryShare }) => [name, parent, entryShare])).toEqual([
    ["detect", null, 1],
    ["cars", 0, 1],
    ["faces", 0, 1],
    ["caption", null, 0.5],
  ]);
  expect(frame.tasks[0]?.variants.map(({ fanouts }) => fanouts)).toEqual([
    [3 * 0.5 * 0.6, 3 * 0.5],
    [4 * 0.5 * 0.6, 4 * 0.5],
  ]);
  expect(frame.leaves.map(({ task, weight }) => [task, weight])).toEqual([
    [1, 1 / 3],
    [2, 1 / 3],
    [3, 1 / 3],
  ]);
  expect(frame.leaves[0]?.accuracyByPath?.shape).toEqual([2, 2]);
  const [fastFast, fastSlow, slowFast, slowSlow] = frame.leaves[0]?.accuracyByPath?.data ?? [];
  expect([fastFast, fastSlow, slowFast, slowSlow]).toEqual([0.36, 0.54, 0.54, 0.81]);
});

test("a path may take its part of the SLO less a hop for each of its servers", () => {
  const { application } = load(FOREST);
  const problem = pipelineProblem(loki.frame(ofMethod("loki", application), new Map()));
  expect(problem.leaves.map(({ latencyLimitMs }) => latencyLimitMs)).toEqual([190, 190, 195]);
  expect(problem.tasks[0]?.variants[1]?.configurations).toEqual([
    { pool: 0, batch: 1, latencyMs: 40, throughputQps: 25 },
    { pool: 0, batch: 4, latencyMs: 100, throughputQps: 40 },
  ]);
});

test("an expression counts only the tasks on the path, and weights are of their sum", () => {
  const policy = {
    method: "loki",
    accuracyOf: "min(detect, cars * faces) * caption",
    leafWeights: { cars: 3, faces: 1, caption: 0 },
  };
  const { leaves } = loki.frame(ofMethod("loki", load(FOREST, { policy }).application), new Map());
  expect(leaves.map(({ weight }) => weight)).toEqual([0.75, 0.25, 0]);
  expect(Array.from(leaves[0]?.accuracyByPath?.data ?? [])).toEqual([0.6, 0.6, 0.6, 0.9]);
  expect(Array.from(leaves[2]?.accuracyByPath?.data ?? [])).toEqual([0.9]);
});

test("a variant runs on the pools whose hardware it was measured on", () => {
  const pools = [
    { name: "old", hardware: "k80", workers: 4 },
    { name: "new", hardware: "v100", workers: 2 },
  ];
  const both = { name: "fast", accuracy: 0.6, profile: ["k80.json#fast", "v100.json#fast"] };
  const tasks = [{ name: "detect", variants: [both, variant("slow")] }];
  const loaded = load(tasks, { cluster: { pools } });
  expect(mistakes(loaded)).toEqual([]);
  const frame = loki.frame(ofMethod("loki", loaded.application), new Map());
  const found = frame.tasks[0]?.variants.map(({ profiles }) =>
    profiles.map((profile) => profile && Array.from(profile.latencyMs.data)),
  );
  expect(found).toEqual([
    [[10, 20], [3]],
    [[40, 100], null],
  ]);
});

test("says what it cannot plan: joins, unrunnable variants, unknown accuracies", () => {
  const join = [
    { name: "a", variants: [variant("fast")], to: [{ task: "b" }, { task: "c" }] },
    { name: "b", variants: [variant("fast")], to: [{ task: "d" }] },
    { name: "c", variants: [variant("fast")], to: [{ task: "d" }] },
    { name: "d", variants: [variant("fast")] },
  ];
  expect(mistakes(load(join))).toEqual([
    'INPUT_UNSUPPORTED loki plans trees, and edges lead to "d" from "b" and "c"; allowed: one, ' +
      "or method inferline or themis, which plan joins",
  ]);
  const cpu = { pools: [{ name: "cpu", hardware: "cpu", workers: 4 }] };
  expect(mistakes(load([{ name: "a", variants: [variant("fast")] }], { cluster: cpu }))).toEqual([
    'INPUT_CONFLICT no pool can run "fast": its profiles are of "k80", and the pools are cpu (cpu)',
  ]);
  const pair = [
    { name: "a", variants: [variant("fast")], to: [{ task: "b" }] },
    { name: "b", variants: [variant("fast")] },
  ];
  expect(mistakes(load(pair, { cluster: { workers: 1 } }))).toEqual([
    "INPUT_INVALID_VALUE expected at least 2 workers, one for each task, got 1",
  ]);
  const policy = { method: "loki", accuracyOf: "1.5 * detect - 0.5 * cars" };
  expect(mistakes(load(FOREST, { policy }))[0]).toBe(
    "INPUT_INVALID_VALUE expected an accuracy between 0 and 1 for every path, " +
      "got 1.05 for slow|fast",
  );
});

test("names the leaf that is never in time, the fastest path and the excess", () => {
  const loaded = load(FOREST, { slo: { latency: "50 ms" } });
  expect(mistakes(loaded)).toEqual([
    'INPUT_CONFLICT the leaf "cars" can never be reached in time: the fastest path, ' +
      "fast ×1, fast ×1, takes 20 ms, 5 ms more than the 15 ms that sloFraction 0.5 of 50 ms " +
      "leaves for execution",
    'INPUT_CONFLICT the leaf "faces" can never be reached in time: the fastest path, ' +
      "fast ×1, fast ×1, takes 20 ms, 5 ms more than the 15 ms that sloFraction 0.5 of 50 ms " +
      "leaves for execution",
    'INPUT_CONFLICT the leaf "caption" can never be reached in time: the fastest path, ' +
      "slow ×1, takes 40 ms, 20 ms more than the 20 ms that sloFraction 0.5 of 50 ms leaves for " +
      "execution",
  ]);
});

test("two profiles of the same hardware are one too many", () => {
  const twice = { name: "fast", profile: ["k80.json#fast", "k80.json#slow"] };
  expect(() => load([{ name: "detect", variants: [twice] }])).toThrow(
    'tasks[0].variants[0].profile[1]: two profiles are of the hardware "k80"; ' +
      "expected one for each",
  );
});
