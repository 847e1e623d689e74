import { join } from "node:path";
import { expect, test } from "vitest";
import { loadApplication } from "../../../compiler/spec/load-application.ts";
import { readProfile } from "../../../compiler/spec/profile.ts";
import { edited, folderOf, mistakeOf, mistakeOfSpec, PROFILE, SPEC } from "./spec-folder.ts";

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
    layers: null,
    speedups: null,
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

/** Where the first variant of the profile is given something else. */
const SMALL = '"latencyMs": { "1": 20, "2": 30, "10": 90 }';
const STAGE = '{ "p50": 1, "p95": 2, "p99": 3, "mean": 1.5, "samples": 30 }';

test("reads layers, and their stages from the first to the last", () => {
  const layers =
    `"layers": { "ms": [1, "2 ms", 0.5], "overheadMs": 0.25, "stages": { "1-3": ` +
    `${STAGE}, "0-3": ${STAGE}, "0-1": ${STAGE} } }`;
  const quantiles = { p50: 1, p95: 2, p99: 3, mean: 1.5 };
  expect(read(edited(PROFILE, SMALL, layers)).variants.get("small")?.profile).toMatchObject({
    rows: [],
    speedups: null,
    layers: {
      layerMs: [1, 2, 0.5],
      overheadMs: 0.25,
      stages: [
        { from: 0, to: 1, quantiles },
        { from: 0, to: 3, quantiles },
        { from: 1, to: 3, quantiles },
      ],
    },
  });
});

test("takes layers without an overhead and without measured stages", () => {
  const text = edited(PROFILE, SMALL, '"layers": { "ms": [1] }');
  expect(read(text).variants.get("small")?.profile.layers).toEqual({
    layerMs: [1],
    overheadMs: 0,
    stages: [],
  });
});

test("reads speed-ups in the order of the places", () => {
  const text = edited(PROFILE, SMALL, `${SMALL}, "speedups": { "16": 3.29, "2": 1.33, "4": 0.5 }`);
  expect(read(text).variants.get("small")?.profile.speedups).toEqual([
    { places: 2, speedup: 1.33 },
    { places: 4, speedup: 0.5 },
    { places: 16, speedup: 3.29 },
  ]);
});

test.each([
  [
    '"layers": { "ms": [] }',
    "INPUT_INVALID_VALUE profile.json:6 variants.small.layers.ms: " +
      "expected at least one layer, got an empty list",
  ],
  [
    '"layers": { "ms": [1, 0] }',
    "INPUT_INVALID_VALUE profile.json:6 variants.small.layers.ms[1]: " +
      "expected a time above 0 in milliseconds such as 21.9, got 0",
  ],
  [
    '"layers": { "overheadMs": 1 }',
    "INPUT_MISSING_KEY profile.json:6 variants.small.layers.ms: missing; expected a list of times",
  ],
  [
    '"layers": { "ms": [1], "overheadMs": -1 }',
    "INPUT_INVALID_VALUE profile.json:6 variants.small.layers.overheadMs: " +
      "expected a number of at least 0, got -1",
  ],
  [
    `"layers": { "ms": [1, 2], "stages": { "0-3": ${STAGE} } }`,
    'INPUT_CONFLICT profile.json:6 variants.small.layers.stages["0-3"]: ' +
      "expected a first layer below the last, and no more than the 2 of ms, got 0-3",
  ],
  [
    `"layers": { "ms": [1, 2], "stages": { "1-1": ${STAGE} } }`,
    'INPUT_CONFLICT profile.json:6 variants.small.layers.stages["1-1"]: ' +
      "expected a first layer below the last, and no more than the 2 of ms, got 1-1",
  ],
  [
    `"layers": { "ms": [1, 2], "stages": { "0:2": ${STAGE} } }`,
    'INPUT_INVALID_VALUE profile.json:6 variants.small.layers.stages["0:2"]: ' +
      'expected layers such as 0-5, counted from 0 and without the last as key, got "0:2"',
  ],
  [
    `"layers": { "ms": [1, 2], "stages": { "0-2": ${STAGE}, "0-2": ${STAGE} } }`,
    "INPUT_SYNTAX profile.json:6:123: expected different keys in one mapping, got this one twice",
  ],
  [
    '"layers": { "ms": [1, 2], "stages": { "0-2": 3 } }',
    'INPUT_INVALID_VALUE profile.json:6 variants.small.layers.stages["0-2"]: ' +
      "expected a mapping with the keys p50, p95, p99, max, mean, samples, got 3",
  ],
  [
    `"layers": { "ms": [1, 2], "stages": { "0-2": ${STAGE.replace("1,", "4,")} } }`,
    'INPUT_CONFLICT profile.json:6 variants.small.layers.stages["0-2"]: ' +
      "expected p50 ≤ p95 ≤ p99, got p50 = 4, p95 = 2, p99 = 3",
  ],
  [
    `${SMALL}, "speedups": [1.33]`,
    "INPUT_INVALID_VALUE profile.json:6 variants.small.speedups: " +
      "expected a mapping from numbers of execution places to speed-ups, got a list",
  ],
  [
    `${SMALL}, "speedups": {}`,
    "INPUT_INVALID_VALUE profile.json:6 variants.small.speedups: " +
      "expected at least one number of execution places, got an empty mapping",
  ],
  [
    `${SMALL}, "speedups": { "1": 1 }`,
    'INPUT_INVALID_VALUE profile.json:6 variants.small.speedups["1"]: ' +
      'expected a number of execution places (a whole number from 2 on) as key, got "1"',
  ],
  [
    `${SMALL}, "speedups": { "2": 0 }`,
    'INPUT_INVALID_VALUE profile.json:6 variants.small.speedups["2"]: ' +
      "expected a number above 0, got 0",
  ],
])("refuses %s", (measured, message) => {
  expect(mistakeOfSpec(SPEC, edited(PROFILE, SMALL, measured))).toBe(message);
});

test.each([
  [SMALL, "neither"],
  [
    `"fit": { "gamma": 1, "epsilon": 2, "delta": 3, "eta": 4 }, "speedups": { "2": 1.5 }`,
    "speedups alone",
  ],
  [`"latencyMs": { "2": 30 }, "speedups": { "2": 1.5 }`, "speedups alone"],
])("method accordion refuses %s", (measured, found) => {
  const spec = edited(SPEC, "method: ramsis", "method: accordion");
  const profile = edited(
    PROFILE,
    '"accuracy": 0.72,',
    '"accuracy": 0.72, "layers": { "ms": [1] },',
  );
  expect(mistakeOfSpec(spec, edited(profile, SMALL, measured))).toBe(
    "INPUT_CONFLICT app.yaml:12 tasks[0].variants[0].profile: " +
      "method accordion needs layers, or speedups with latencyMs of batch 1, " +
      `but profile.json has ${found} for "small"`,
  );
});

test("method accordion takes layers alone or speed-ups, on the hardware of every pool", () => {
  const spec = edited(SPEC, "method: ramsis", "method: accordion");
  const layered = edited(
    PROFILE,
    '"accuracy": 0.72,',
    '"accuracy": 0.72, "layers": { "ms": [1] },',
  );
  const whole = edited(layered, SMALL, `${SMALL}, "speedups": { "2": 1.5 }`);
  expect(mistakeOfSpec(spec, whole)).toBe("no mistake");
  const both = edited(spec, "profile.json#small", "[profile.json#small, other.json#small]");
  const pools =
    "pools: [{ name: a, hardware: cpu, workers: 1 }, { name: b, hardware: H, workers: 1 }]";
  const folder = folderOf({
    "app.yaml": edited(both, "workers: 4", edited(pools, "H", "other")),
    "profile.json": whole,
    "other.json": edited(PROFILE, '"cpu"', '"other"'),
  });
  expect(mistakeOf(folder, () => loadApplication(`${folder}/app.yaml`))).toMatch(
    /^INPUT_CONFLICT app.yaml:12 tasks\[0\].variants\[0\].profile\[1\]: .* other.json has neither/,
  );
});

test("allows latencies that fall with the batch size", () => {
  expect(mistakeOfSpec(SPEC, edited(PROFILE, '"2": 30', '"2": 3'))).toBe("no mistake");
});

test.each([
  [
    "latency-profile/1",
    "latency-profile/2",
    'INPUT_INVALID_VALUE profile.json:2 format: expected "latency-profile/1", ' +
      'got "latency-profile/2"; did you mean "latency-profile/1"?',
  ],
  [
    '"hardware": "cpu",\n',
    "",
    "INPUT_MISSING_KEY profile.json:1 hardware: missing; expected a name of 1 to 100 " +
      "characters without | and control characters",
  ],
  [
    '"hardware": "cpu"',
    '"hardwear": "cpu"',
    'INPUT_UNKNOWN_KEY profile.json:3 hardwear: unknown key "hardwear"; did you mean "hardware"?',
  ],
  [
    '"percentile": 95',
    '"percentile": 100',
    "INPUT_INVALID_VALUE profile.json:4 percentile: expected a percentile above 0 and below " +
      "100 such as 99, got 100",
  ],
  [
    '"1": 20',
    '"0": 20',
    'INPUT_INVALID_VALUE profile.json:6 variants.small.latencyMs["0"]: ' +
      'expected a batch size (a whole number above 0) as key, got "0"',
  ],
  [
    '"1": 20',
    '"1.5": 20',
    'INPUT_INVALID_VALUE profile.json:6 variants.small.latencyMs["1.5"]: ' +
      'expected a batch size (a whole number above 0) as key, got "1.5"',
  ],
  [
    '"1": 20',
    '"1": 0',
    'INPUT_INVALID_VALUE profile.json:6 variants.small.latencyMs["1"]: ' +
      "expected a time above 0 in milliseconds, or a mapping with p50, p95, p99 and mean, got 0",
  ],
  [
    '"1": 20',
    '"1": -4',
    'INPUT_INVALID_VALUE profile.json:6 variants.small.latencyMs["1"]: ' +
      "expected a time above 0 in milliseconds, or a mapping with p50, p95, p99 and mean, got -4",
  ],
  [
    '"1": 20',
    '"1": null',
    'INPUT_INVALID_VALUE profile.json:6 variants.small.latencyMs["1"]: ' +
      "expected a time above 0 in milliseconds, or a mapping with p50, p95, p99 and mean, " +
      "got nothing",
  ],
  [
    '"1": 20',
    '"1": .nan',
    'INPUT_INVALID_VALUE profile.json:6 variants.small.latencyMs["1"]: ' +
      "expected a time above 0 in milliseconds, or a mapping with p50, p95, p99 and mean, " +
      "got NaN",
  ],
  [
    '"1": 20',
    '"1": "fast"',
    'INPUT_INVALID_VALUE profile.json:6 variants.small.latencyMs["1"]: ' +
      "expected a time above 0 in milliseconds, or a mapping with p50, p95, p99 and mean, " +
      'got "fast"',
  ],
  [
    '"p50": 40',
    '"p50": 55',
    'INPUT_CONFLICT profile.json:9 variants.large.latencyMs["1"]: ' +
      "expected p50 ≤ p95 ≤ p99, got p50 = 55, p95 = 50, p99 = 60",
  ],
  [
    '"p50": 40, ',
    "",
    'INPUT_MISSING_KEY profile.json:9 variants.large.latencyMs["1"].p50: missing; ' +
      "expected a time above 0 in milliseconds such as 21.9",
  ],
  [
    '"p50": 40',
    '"p50": 40, "p90": 3',
    'INPUT_UNKNOWN_KEY profile.json:9 variants.large.latencyMs["1"].p90: ' +
      'unknown key "p90"; did you mean "p50"?',
  ],
  [
    '{ "1": 20, "2": 30, "10": 90 }',
    "{}",
    "INPUT_INVALID_VALUE profile.json:6 variants.small.latencyMs: " +
      "expected at least one batch size, got an empty mapping",
  ],
  [
    '"latencyMs": { "1": 20, "2": 30, "10": 90 }',
    "",
    "INPUT_CONFLICT profile.json:6 variants.small: expected latencyMs, byBucket, fit, " +
      "byCores or layers, got none of them",
  ],
  [
    '"latencyMs": { "1": 20, "2": 30, "10": 90 }',
    '"fit": { "gamma": 1, "epsilon": 2, "delta": 3, "eta": -4 }',
    "INPUT_CONFLICT app.yaml:12 tasks[0].variants[0].profile: " +
      'method ramsis needs latencyMs, but profile.json has none for "small"',
  ],
  [
    '"latencyMs": { "1": 20, "2": 30, "10": 90 }',
    '"byCores": {}',
    "INPUT_INVALID_VALUE profile.json:6 variants.small.byCores: " +
      "expected at least one number of cores, got an empty mapping",
  ],
  [
    '"accuracy": 0.72,',
    "",
    "INPUT_MISSING_KEY app.yaml:13 tasks[0].variants[1].accuracy: missing; " +
      "expected a ratio such as 0.58 or 58%, since profile.json has none; " +
      "profile --inputs ROWS --labels CLASSES measures it",
  ],
  [
    '"accuracy": 0.72',
    '"accuracy": 72',
    "INPUT_INVALID_VALUE profile.json:8 variants.large.accuracy: " +
      "expected a ratio between 0 and 1 such as 0.58 or 58%, got 72",
  ],
  [
    '"gamma": 1',
    '"gamma": "1 ms"',
    "INPUT_INVALID_VALUE profile.json:10 variants.large.fit.gamma: expected a number, " +
      'got "1 ms" (a time)',
  ],
])("refuses %j made %j", (from, to, message) => {
  expect(mistakeOfSpec(SPEC, edited(PROFILE, from, to))).toBe(message);
});
