/** What the loader refuses, and what it says of where, what was found and what is allowed. */
import { expect, test } from "vitest";
import { loadApplication } from "../../../compiler/spec/load-application.ts";
import { edited, folderOf, mistakeOf, mistakeOfSpec, PROFILE, SPEC } from "./spec-folder.ts";

test("names a spec that is missing, a folder, empty or not UTF-8", () => {
  const folder = folderOf({ "empty.yaml": "", "latin.yaml": new Uint8Array([0xe4]) });
  const mistake = (name: string) => mistakeOf(folder, () => loadApplication(`${folder}/${name}`));
  expect(mistake("app.yaml")).toBe(
    "INPUT_UNREADABLE app.yaml: expected a readable file, but no such file",
  );
  expect(mistake("empty.yaml")).toBe(
    "INPUT_SYNTAX empty.yaml: expected YAML or JSON, got an empty file",
  );
  expect(mistake("latin.yaml")).toBe(
    "INPUT_SYNTAX latin.yaml: expected UTF-8 text, got other bytes",
  );
  expect(mistakeOf(folder, () => loadApplication(folder))).toContain("but it is a folder");
});

test.each([
  [
    "version: 1",
    "version: 2",
    "INPUT_INVALID_VALUE app.yaml:1 version: expected 1, the only version of the format, got 2",
  ],
  [
    "version: 1\n",
    "",
    "INPUT_MISSING_KEY app.yaml:1 version: missing; expected 1, the only version of the format",
  ],
  [
    "application: demo",
    "application: 3",
    "INPUT_INVALID_VALUE app.yaml:2 application: expected a name of 1 to 100 characters " +
      "without | and control characters, got 3",
  ],
  [
    "application: demo",
    "application: a|b",
    "INPUT_INVALID_VALUE app.yaml:2 application: expected a name of 1 to 100 characters " +
      'without | and control characters, got "a|b"',
  ],
  [
    "application: demo",
    'application: "a\\u0007"',
    "INPUT_INVALID_VALUE app.yaml:2 application: expected a name of 1 to 100 characters " +
      'without | and control characters, got "a\\u0007"',
  ],
  [
    "latency: 150 ms",
    "latency: 150",
    "INPUT_INVALID_VALUE app.yaml:3 slo.latency: expected a time above 0 with its unit such " +
      "as 150 ms, got 150",
  ],
  [
    "latency: 150 ms",
    'latency: "150"',
    "INPUT_INVALID_VALUE app.yaml:3 slo.latency: expected a time above 0 with its unit such " +
      'as 150 ms, got "150" (without a unit)',
  ],
  [
    "latency: 150 ms",
    "latency: -4 ms",
    "INPUT_INVALID_VALUE app.yaml:3 slo.latency: expected a time above 0 with its unit such " +
      'as 150 ms, got "-4 ms"',
  ],
  [
    "latency: 150 ms",
    "latency: 0 ms",
    "INPUT_INVALID_VALUE app.yaml:3 slo.latency: expected a time above 0 with its unit such " +
      'as 150 ms, got "0 ms"',
  ],
  [
    "latency: 150 ms",
    "latency: 150 qps",
    "INPUT_INVALID_VALUE app.yaml:3 slo.latency: expected a time above 0 with its unit such " +
      'as 150 ms, got "150 qps" (unknown unit "qps")',
  ],
  [
    "latency: 150 ms",
    "latency: 2000 / s",
    "INPUT_INVALID_VALUE app.yaml:3 slo.latency: expected a time above 0 with its unit such " +
      'as 150 ms, got "2000 / s" (a rate)',
  ],
  [
    "latency: 150 ms",
    "latency: 150 m",
    "INPUT_INVALID_VALUE app.yaml:3 slo.latency: expected a time above 0 with its unit such " +
      'as 150 ms, got "150 m" (neither a time, a rate nor a plain number)',
  ],
  [
    "latency: 150 ms",
    "latency: ",
    "INPUT_INVALID_VALUE app.yaml:3 slo.latency: expected a time above 0 with its unit such " +
      "as 150 ms, got nothing",
  ],
  [
    "latency: 150 ms",
    "latency: [1]",
    "INPUT_INVALID_VALUE app.yaml:3 slo.latency: expected a time above 0 with its unit such " +
      "as 150 ms, got a list",
  ],
  [
    "latency: 150 ms",
    "latency: import(1)",
    "INPUT_INVALID_VALUE app.yaml:3 slo.latency: expected a time above 0 with its unit such " +
      'as 150 ms, got "import(1)" (unknown function "import")',
  ],
  [
    "latency: 150 ms",
    "latency: 1 s / 0",
    "INPUT_INVALID_VALUE app.yaml:3 slo.latency: expected a time above 0 with its unit such " +
      'as 150 ms, got "1 s / 0" (not a finite number)',
  ],
  [
    "latency: 150 ms",
    "latencyy: 150 ms",
    'INPUT_UNKNOWN_KEY app.yaml:3 slo.latencyy: unknown key "latencyy"; did you mean "latency"?',
  ],
  [
    "latency: 150 ms",
    "latency: 150 ms, percentile: 100",
    "INPUT_INVALID_VALUE app.yaml:3 slo.percentile: expected a percentile above 0 and below " +
      "100 such as 99, got 100",
  ],
  [
    "latency: 150 ms",
    "latency: 150 ms, percentile: 0",
    "INPUT_INVALID_VALUE app.yaml:3 slo.percentile: expected a percentile above 0 and below " +
      "100 such as 99, got 0",
  ],
  [
    "latency: 150 ms",
    "latency: 150 ms, maxViolationRate: 1.2",
    "INPUT_INVALID_VALUE app.yaml:3 slo.maxViolationRate: expected a ratio between 0 and 1 " +
      "such as 0.58 or 58%, got 1.2",
  ],
  [
    "slo: { latency: 150 ms }",
    "slo: fast",
    "INPUT_INVALID_VALUE app.yaml:3 slo: expected a mapping with the keys latency, " +
      'classes, maxViolationRate, percentile, p50, p95, got "fast"',
  ],
  [
    "slo: { latency: 150 ms }\n",
    "",
    "INPUT_MISSING_KEY app.yaml:1 slo: missing; expected a mapping with the keys latency, " +
      "classes, maxViolationRate, percentile, p50, p95",
  ],
  [
    "latency: 150 ms",
    "latency: 10 ms",
    'INPUT_CONFLICT app.yaml:3 slo.latency: expected at least the 20 ms of "small", ' +
      'the fastest variant of "classify" at batch 1, got 10 ms',
  ],
  [
    "process: poisson",
    "process: poison",
    "INPUT_INVALID_VALUE app.yaml:5 workload.arrivals.process: " +
      'expected one of "poisson", "gamma", "trace", got "poison"; did you mean "poisson"?',
  ],
  [
    "process: poisson",
    "process: gamma",
    "INPUT_MISSING_KEY app.yaml:5 workload.arrivals.cv2: missing; expected a number above 0",
  ],
  [
    "process: poisson",
    "process: gamma, cv2: 0",
    "INPUT_INVALID_VALUE app.yaml:5 workload.arrivals.cv2: expected a number above 0, got 0",
  ],
  [
    "process: poisson",
    "process: trace, file: day.csv",
    "INPUT_UNREADABLE app.yaml:5 workload.arrivals.file: expected a readable file, " +
      'got "day.csv" (no such file)',
  ],
  [
    "{ process: poisson }",
    "poisson",
    "INPUT_INVALID_VALUE app.yaml:5 workload.arrivals: expected a mapping with the key " +
      'process, got "poisson"',
  ],
  [
    "workers: 4",
    "worker: 4",
    'INPUT_UNKNOWN_KEY app.yaml:8 cluster.worker: unknown key "worker"; did you mean "workers"?',
  ],
  [
    "workers: 4",
    "workers: 4\n  zebra: 1",
    'INPUT_UNKNOWN_KEY app.yaml:9 cluster.zebra: unknown key "zebra"; ' +
      "allowed are workers, pools, communicationLatency",
  ],
  [
    "workers: 4",
    "workers: 1.5",
    "INPUT_INVALID_VALUE app.yaml:8 cluster.workers: expected a whole number from 1 to " +
      "10000, got 1.5",
  ],
  [
    "workers: 4",
    "workers: 0",
    "INPUT_INVALID_VALUE app.yaml:8 cluster.workers: expected a whole number from 1 to " +
      "10000, got 0",
  ],
  [
    "workers: 4",
    "workers: -1",
    "INPUT_INVALID_VALUE app.yaml:8 cluster.workers: expected a whole number from 1 to " +
      "10000, got -1",
  ],
  [
    "workers: 4",
    "workers: .nan",
    "INPUT_INVALID_VALUE app.yaml:8 cluster.workers: expected a whole number from 1 to " +
      "10000, got NaN",
  ],
  [
    "workers: 4",
    "workers: .inf",
    "INPUT_INVALID_VALUE app.yaml:8 cluster.workers: expected a whole number from 1 to " +
      "10000, got Infinity",
  ],
  [
    "workers: 4",
    'workers: "4"',
    "INPUT_INVALID_VALUE app.yaml:8 cluster.workers: expected a whole number from 1 to " +
      '10000, or a list of URLs of v2 servers, got "4"',
  ],
  [
    "workers: 4",
    "workers: 4\n  pools: [{ name: a, workers: 1 }]",
    "INPUT_CONFLICT app.yaml:9 cluster.pools: expected workers or pools, got both",
  ],
  [
    "workers: 4",
    "communicationLatency: 1 ms",
    "INPUT_MISSING_KEY app.yaml:7 cluster.workers: missing; expected workers or pools",
  ],
  [
    "workers: 4",
    "pools: []",
    "INPUT_INVALID_VALUE app.yaml:8 cluster.pools: expected at least one pool, got an empty list",
  ],
  [
    "workers: 4",
    "pools: [{ name: a, workers: 1 }, { name: a, workers: 2 }]",
    'INPUT_CONFLICT app.yaml:8 cluster.pools[1].name: two pools are named "a"; ' +
      "expected different names",
  ],
  [
    "workers: 4",
    "pools: [{ name: a, workers: 1, pricePerHour: -1 }]",
    "INPUT_INVALID_VALUE app.yaml:8 cluster.pools[0].pricePerHour: " +
      "expected a number of at least 0, got -1",
  ],
  [
    "workers: 4",
    "workers: 4\n  communicationLatency: 0",
    "INPUT_INVALID_VALUE app.yaml:9 cluster.communicationLatency: " +
      "expected auto, or a time of at least 0 with its unit such as 1 ms, got 0",
  ],
  [
    "workers: 4",
    "workers: 4\n  __proto__: 1",
    'INPUT_UNKNOWN_KEY app.yaml:9 cluster.__proto__: unknown key "__proto__"; ' +
      "allowed are workers, pools, communicationLatency",
  ],
  [
    "accuracy: 0.58",
    "accuracy: 1.2",
    "INPUT_INVALID_VALUE app.yaml:12 tasks[0].variants[0].accuracy: " +
      "expected a ratio between 0 and 1 such as 0.58 or 58%, got 1.2",
  ],
  [
    "accuracy: 0.58",
    "accuracy: -1%",
    "INPUT_INVALID_VALUE app.yaml:12 tasks[0].variants[0].accuracy: " +
      'expected a ratio between 0 and 1 such as 0.58 or 58%, got "-1%"',
  ],
  [
    "accuracy: 0.58, ",
    "",
    "INPUT_MISSING_KEY app.yaml:12 tasks[0].variants[0].accuracy: missing; " +
      "expected a ratio such as 0.58 or 58%, since profile.json has none; " +
      "profile --inputs ROWS --labels CLASSES measures it",
  ],
  [
    "name: large",
    "name: small",
    "INPUT_CONFLICT app.yaml:13 tasks[0].variants[1].name: " +
      'two variants are named "small"; expected different names',
  ],
  [
    "profile.json#small",
    "profile.json#smal",
    "INPUT_CONFLICT app.yaml:12 tasks[0].variants[0].profile: " +
      'the profile has no variant "smal"; did you mean "small"?',
  ],
  [
    "profile.json#small",
    "profile.json",
    "INPUT_INVALID_VALUE app.yaml:12 tasks[0].variants[0].profile: " +
      'expected <file>#<variant>, got "profile.json"',
  ],
  [
    "profile.json#small",
    "profil.json#small",
    "INPUT_UNREADABLE app.yaml:12 tasks[0].variants[0].profile: expected a readable file, " +
      'got "profil.json" (no such file)',
  ],
  [
    "profile.json#small",
    "folder#small",
    "INPUT_UNREADABLE app.yaml:12 tasks[0].variants[0].profile: expected a readable file, " +
      'got "folder" (it is a folder)',
  ],
  [
    "profile: profile.json#small",
    "model: m.onnx, profile: profile.json#small",
    "INPUT_UNREADABLE app.yaml:12 tasks[0].variants[0].model: expected a readable file, " +
      'got "m.onnx" (no such file)',
  ],
  [
    "profile: profile.json#small",
    "fanout: 2, profile: profile.json#small",
    "INPUT_CONFLICT app.yaml:12 tasks[0].variants[0].fanout: expected none, " +
      'since the task "classify" has no successor',
  ],
  [
    "accuracy: 0.58",
    "accuracy: 1.2, name2: x",
    "INPUT_INVALID_VALUE app.yaml:12 tasks[0].variants[0].accuracy: " +
      "expected a ratio between 0 and 1 such as 0.58 or 58%, got 1.2",
  ],
])("refuses %j made %j", (from, to, message) => {
  expect(mistakeOfSpec(edited(SPEC, from, to), PROFILE)).toBe(message);
});
