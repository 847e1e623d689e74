import { join } from "node:path";
import { expect, test } from "vitest";
import { readProfile } from "../../../compiler/spec/profile.ts";
import { edited, folderOf, mistakeOfSpec, PROFILE, SPEC } from "./spec-folder.ts";

function read(text: string) {
  return readProfile(join(folderOf({ "profile.json": text }), "profile.json"));
}

test("sorts rows by batch size as numbers", () => {
  const profile = read(edited(PROFILE, '"1": 20, "2": 30', '"2": "0.03 s", "1": 20'));
  expect(profile.variants.get("small")?.profile).toMatchObject({
    file: "profile.json",
    variant: "small",
    hardware: "cpu",
    task: null,
    percentile: 95,
    fit: null,
    byCores: null,
    rows: [
      { batch: 1, latencyMs: 20, quantiles: null },
      { batch: 2, latencyMs: 30, quantiles: null },
      { batch: 10, latencyMs: 90, quantiles: null },
    ],
  });
});

test("takes the p95 of a row with quantiles and keeps them all", () => {
  const large = read(PROFILE).variants.get("large");
  expect(large?.accuracy).toBe(0.72);
  expect(large?.profile.rows).toEqual([
    { batch: 1, latencyMs: 50, quantiles: { p50: 40, p95: 50, p99: 60, mean: 45 } },
  ]);
  expect(large?.profile.fit).toEqual({ gamma: 1, epsilon: 2, delta: 3, eta: -4 });
});

test("reads rows by cores, ascending", () => {
  const text = edited(
    PROFILE,
    '"accuracy": 0.72',
    '"byCores": { "16": { "1": 5 }, "2": { "2": 9, "1": 8 } }',
  );
  expect(read(text).variants.get("large")?.profile.byCores).toEqual([
    {
      cores: 2,
      rows: [
        { batch: 1, latencyMs: 8, quantiles: null },
        { batch: 2, latencyMs: 9, quantiles: null },
      ],
    },
    { cores: 16, rows: [{ batch: 1, latencyMs: 5, quantiles: null }] },
  ]);
});

test("allows latencies that fall with the batch size", () => {
  expect(mistakeOfSpec(SPEC, edited(PROFILE, '"2": 30', '"2": 3'))).toBe("no mistake");
});

test.each([
  [
    "latency-profile/1",
    "latency-profile/2",
    'INPUT_INVALID_VALUE profile.json:2 format: expected "latency-profile/1", got "latency-profile/2"; did you mean "latency-profile/1"?',
  ],
  [
    '"hardware": "cpu",\n',
    "",
    "INPUT_MISSING_KEY profile.json:1 hardware: missing; expected a name of 1 to 100 characters without | and line breaks",
  ],
  [
    '"hardware": "cpu"',
    '"hardwear": "cpu"',
    'INPUT_UNKNOWN_KEY profile.json:3 hardwear: unknown key "hardwear"; did you mean "hardware"? (and 1 more)',
  ],
  [
    '"percentile": 95',
    '"percentile": 100',
    "INPUT_INVALID_VALUE profile.json:4 percentile: expected a percentile above 0 and below 100 such as 99, got 100",
  ],
  [
    '"1": 20',
    '"0": 20',
    'INPUT_INVALID_VALUE profile.json:6 variants.small.latencyMs["0"]: expected a batch size (a whole number above 0) as key, got "0"',
  ],
  [
    '"1": 20',
    '"1.5": 20',
    'INPUT_INVALID_VALUE profile.json:6 variants.small.latencyMs["1.5"]: expected a batch size (a whole number above 0) as key, got "1.5"',
  ],
  [
    '"1": 20',
    '"1": 0',
    'INPUT_INVALID_VALUE profile.json:6 variants.small.latencyMs["1"]: expected a time above 0 in milliseconds, or a mapping with p50, p95, p99 and mean, got 0',
  ],
  [
    '"1": 20',
    '"1": -4',
    'INPUT_INVALID_VALUE profile.json:6 variants.small.latencyMs["1"]: expected a time above 0 in milliseconds, or a mapping with p50, p95, p99 and mean, got -4',
  ],
  [
    '"1": 20',
    '"1": null',
    'INPUT_INVALID_VALUE profile.json:6 variants.small.latencyMs["1"]: expected a time above 0 in milliseconds, or a mapping with p50, p95, p99 and mean, got nothing',
  ],
  [
    '"1": 20',
    '"1": .nan',
    'INPUT_INVALID_VALUE profile.json:6 variants.small.latencyMs["1"]: expected a time above 0 in milliseconds, or a mapping with p50, p95, p99 and mean, got NaN',
  ],
  [
    '"1": 20',
    '"1": "fast"',
    'INPUT_INVALID_VALUE profile.json:6 variants.small.latencyMs["1"]: expected a time above 0 in milliseconds, or a mapping with p50, p95, p99 and mean, got "fast"',
  ],
  [
    '"p50": 40',
    '"p50": 55',
    'INPUT_CONFLICT profile.json:9 variants.large.latencyMs["1"]: expected p50 ≤ p95 ≤ p99, got p50 = 55, p95 = 50, p99 = 60',
  ],
  [
    '"p50": 40, ',
    "",
    'INPUT_MISSING_KEY profile.json:9 variants.large.latencyMs["1"].p50: missing; expected a time above 0 in milliseconds such as 21.9',
  ],
  [
    '"p50": 40',
    '"p50": 40, "p90": 3',
    'INPUT_UNKNOWN_KEY profile.json:9 variants.large.latencyMs["1"].p90: unknown key "p90"; did you mean "p50"?',
  ],
  [
    '{ "1": 20, "2": 30, "10": 90 }',
    "{}",
    "INPUT_INVALID_VALUE profile.json:6 variants.small.latencyMs: expected at least one batch size, got an empty mapping",
  ],
  [
    '"latencyMs": { "1": 20, "2": 30, "10": 90 }',
    "",
    "INPUT_CONFLICT profile.json:6 variants.small: expected latencyMs, fit or byCores, got none of them",
  ],
  [
    '"latencyMs": { "1": 20, "2": 30, "10": 90 }',
    '"fit": { "gamma": 1, "epsilon": 2, "delta": 3, "eta": -4 }',
    'INPUT_CONFLICT app.yaml:12 tasks[0].variants[0].profile: method ramsis needs latencyMs, and profile.json has none for "small"',
  ],
  [
    '"latencyMs": { "1": 20, "2": 30, "10": 90 }',
    '"byCores": {}',
    "INPUT_INVALID_VALUE profile.json:6 variants.small.byCores: expected at least one number of cores, got an empty mapping",
  ],
  [
    '"accuracy": 0.72,',
    "",
    "INPUT_MISSING_KEY app.yaml:13 tasks[0].variants[1].accuracy: missing; expected a ratio such as 0.58 or 58%, since profile.json has none",
  ],
  [
    '"accuracy": 0.72',
    '"accuracy": 72',
    "INPUT_INVALID_VALUE profile.json:8 variants.large.accuracy: expected a ratio between 0 and 1 such as 0.58 or 58%, got 72",
  ],
  [
    '"gamma": 1',
    '"gamma": "1 ms"',
    'INPUT_INVALID_VALUE profile.json:10 variants.large.fit.gamma: expected a number, got "1 ms" (a time)',
  ],
])("refuses %j made %j", (from, to, message) => {
  expect(mistakeOfSpec(SPEC, edited(PROFILE, from, to))).toBe(message);
});
