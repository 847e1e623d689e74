import { join } from "node:path";
import { expect, test } from "vitest";
import { loadApplication } from "../../../compiler/spec/load-application.ts";
import { edited, folderOf, mistakeOfSpec, PIPELINE, PROFILE, SPEC } from "./spec-folder.ts";

const FIT =
  '"small": { "fit": { "gamma": 1, "epsilon": 2, "delta": 3, "eta": 4 }, "layers": { "ms": [20] },';
const LARGE = '"large": { "layers": { "ms": [20, 30] },';

function policyOf(spec: string) {
  const profile = edited(edited(PROFILE, '"small": {', FIT), '"large": {', LARGE);
  const folder = folderOf({ "app.yaml": spec, "profile.json": profile });
  return loadApplication(join(folder, "app.yaml")).application.policy;
}

test("fills in every default of every method", () => {
  const defaults = (method: string) =>
    policyOf(edited(PIPELINE, "method: loki", `method: ${method}`));
  expect(defaults("ramsis")).toEqual({
    method: "ramsis",
    objective: "per-query",
    discretization: { kind: "fixed", steps: 100 },
    batching: "maximal",
    maxQueue: 32,
    extrapolate: false,
    balancer: "pooled",
    drop: false,
    lateWithinSlos: 4,
  });
  expect(defaults("loki")).toEqual({
    method: "loki",
    sloFraction: 0.5,
    headroom: 0,
    accuracyOf: { kind: "product" },
    leafWeights: { identify: 0.5, caption: 0.5 },
    oneBatchPerVariant: true,
    solver: "auto",
    solveLimitMs: 20_000,
    routing: "auto",
    drop: "deadline",
    stagePolicy: "fixed",
    modelLoadMs: 0,
  });
  expect(defaults("inferline")).toEqual({
    method: "inferline",
    refine: "exact",
    downgrade: "next",
    margin: 0,
    traces: 1,
    sampleDurationMs: 180_000,
    sampleRequests: 1000,
    sampleSeed: 1,
    solveLimitMs: 5000,
    betweenBatches: "next",
    tuner: "joint",
    tolerance: 0,
    activationMs: 5000,
  });
  expect(defaults("themis")).toEqual({
    method: "themis",
    maxBatch: 16,
    maxCores: 16,
    queueing: "stochastic",
    quantile: "auto",
    solver: "exact",
    scaling: "joint",
    predictor: "poisson-peak",
    tickMs: 37.5,
    stableTicks: 100,
    resizeMs: 100,
    coldStartMs: 5000,
    extraCores: "same",
    dropAfterSlos: 1,
    dropRule: "rest",
  });
  expect(defaults("accordion")).toEqual({
    method: "accordion",
    executionPlaces: 64,
    maxDepth: 8,
    timing: "pipelined",
    maxBatch: 64,
    scheduler: "accordion",
    regrow: true,
    backfill: true,
    reconfigurationMs: 5,
    dropAfterSlos: 1,
    dropout: "turn",
    meanBatch: 8,
    batchSigma: 0.5,
    lowShare: 0.5,
  });
});

test("fills in the steps of a fixed discretization", () => {
  const spec = edited(SPEC, "ramsis", "ramsis\n  discretization: { kind: fixed }");
  expect(policyOf(spec)).toMatchObject({ discretization: { kind: "fixed", steps: 100 } });
});

test("reads Accordion's times and shares in the units of the compiler", () => {
  const policy = `accordion
  reconfiguration: 0.02 s
  dropAfter: never
  meanBatch: 20
  batchSigma: 0
  lowShare: 25%`;
  expect(policyOf(edited(PIPELINE, "loki", policy))).toMatchObject({
    reconfigurationMs: 20,
    dropAfterSlos: null,
    meanBatch: 20,
    batchSigma: 0,
    lowShare: 0.25,
  });
});

test("reads Loki's expression, table and weights", () => {
  const expression = edited(PIPELINE, "loki", "loki\n  accuracyOf: detect * identify * caption^2");
  expect(policyOf(expression)).toMatchObject({
    accuracyOf: { kind: "expression", expression: "detect * identify * caption^2" },
  });
  const table = edited(
    PIPELINE,
    "loki",
    `loki
  accuracyOf: { table: { "n|a": 30%, "n|b": 0.4, c: 0.5 } }
  leafWeights: { caption: 1, identify: 2 }`,
  );
  expect(policyOf(table)).toMatchObject({
    accuracyOf: { kind: "table", accuracyByPath: { "n|a": 0.3, "n|b": 0.4, c: 0.5 } },
    leafWeights: { caption: 1, identify: 2 },
  });
});

test.each([
  [
    "method: ramsis",
    "method: ramses",
    'INPUT_INVALID_VALUE app.yaml:15 policy.method: expected one of "ramsis", ' +
      '"loki", "inferline", "themis", "accordion", got "ramses"; did you mean "ramsis"?',
  ],
  [
    "method: ramsis",
    "",
    "INPUT_INVALID_VALUE app.yaml:14 policy: expected a mapping with the key method, got nothing",
  ],
  [
    "method: ramsis",
    "objective: per-query",
    'INPUT_MISSING_KEY app.yaml:14 policy.method: missing; expected one of "ramsis", ' +
      '"loki", "inferline", "themis", "accordion"',
  ],
  [
    "method: ramsis",
    "method: ramsis\n  objective: per-qery",
    'INPUT_INVALID_VALUE app.yaml:16 policy.objective: expected one of "per-query", ' +
      '"per-decision", got "per-qery"; did you mean "per-query"?',
  ],
  [
    "method: ramsis",
    "method: ramsis\n  maxQueue: 0",
    "INPUT_INVALID_VALUE app.yaml:16 policy.maxQueue: expected a whole number from 1 to 4096, " +
      "got 0",
  ],
  [
    "method: ramsis",
    "method: ramsis\n  discretization: { kind: fixed, steps: 0 }",
    "INPUT_INVALID_VALUE app.yaml:16 policy.discretization.steps: " +
      "expected a whole number from 1 to 10000, got 0",
  ],
  [
    "method: ramsis",
    "method: ramsis\n  discretization: fixed",
    "INPUT_INVALID_VALUE app.yaml:16 policy.discretization: " +
      'expected a mapping with the key kind, got "fixed"',
  ],
  [
    "method: ramsis",
    "method: ramsis\n  discretization: { kind: modelbased }",
    "INPUT_INVALID_VALUE app.yaml:16 policy.discretization.kind: " +
      'expected one of "fixed", "model-based", got "modelbased"; did you mean "model-based"?',
  ],
  [
    "method: ramsis",
    "method: ramsis\n  maxBatch: 3",
    'INPUT_UNKNOWN_KEY app.yaml:16 policy.maxBatch: unknown key "maxBatch"; ' +
      "allowed are method, objective, discretization, batching, maxQueue, " +
      "extrapolate, balancer, serviceTimes, drop, lateWithin, classes, latencyPrice",
  ],
  [
    "method: ramsis",
    "method: themis",
    "INPUT_CONFLICT app.yaml:12 tasks[0].variants[0].profile: " +
      'method themis needs fit or byCores, but profile.json has neither for "small"',
  ],
  [
    "method: ramsis",
    "method: inferline\n  margin: 1",
    'INPUT_INVALID_VALUE app.yaml:16 policy.margin: expected "auto", ' +
      "or a fraction from 0 to below 1 such as 0.05 or 5%, got 1",
  ],
  [
    "method: ramsis",
    "method: inferline\n  tolerance: 101",
    "INPUT_INVALID_VALUE app.yaml:16 policy.tolerance: expected a number from 0 to 100, got 101",
  ],
  [
    "method: ramsis",
    "method: accordion\n  executionPlaces: many",
    "INPUT_INVALID_VALUE app.yaml:16 policy.executionPlaces: " +
      'expected a whole number from 1 to 4096, got "many"',
  ],
  [
    "method: ramsis",
    "method: accordion\n  dropAfter: 0",
    'INPUT_INVALID_VALUE app.yaml:16 policy.dropAfter: expected "never", ' +
      "or a number above 0 of multiples of the SLO, got 0",
  ],
  [
    "method: ramsis",
    "method: accordion\n  batchSigma: -1",
    "INPUT_INVALID_VALUE app.yaml:16 policy.batchSigma: expected a number from 0 to 10, got -1",
  ],
])("refuses %j made %j", (from, to, message) => {
  expect(mistakeOfSpec(edited(SPEC, from, to), PROFILE)).toBe(message);
});

test.each([
  [
    "method: loki",
    "method: loki\n  sloFraction: 0",
    "INPUT_INVALID_VALUE app.yaml:26 policy.sloFraction: expected a ratio above 0 and up to 1 " +
      "such as 0.5 or 50%, got 0",
  ],
  [
    "method: loki",
    "method: loki\n  accuracyOf: detect * identfy",
    'INPUT_INVALID_VALUE app.yaml:26 policy.accuracyOf: expected "product", ' +
      "or an expression over the tasks detect, identify, caption, " +
      'got "detect * identfy" (unknown name "identfy")',
  ],
  [
    "method: loki",
    "method: loki\n  accuracyOf: detect * 2",
    'INPUT_INVALID_VALUE app.yaml:26 policy.accuracyOf: expected "product", ' +
      "or an expression over the tasks detect, identify, caption, " +
      'got "detect * 2" (2 for perfect tasks, which is not an accuracy)',
  ],
  [
    "method: loki",
    "method: loki\n  accuracyOf: 3",
    'INPUT_INVALID_VALUE app.yaml:26 policy.accuracyOf: expected "product", ' +
      "an expression over task names, or a mapping with the key table, got 3",
  ],
  [
    "method: loki",
    'method: loki\n  accuracyOf: { table: { "n|a": 0.9, "n|b": 0.9, "c": 0.5, "n|x": 0.5 } }',
    'INPUT_CONFLICT app.yaml:26 policy.accuracyOf.table["n|x"]: no path is "n|x"; ' +
      'did you mean "n|a"?',
  ],
  [
    "method: loki",
    'method: loki\n  accuracyOf: { table: { "n|a": 0.9, "c": 0.5 } }',
    'INPUT_MISSING_KEY app.yaml:26 policy.accuracyOf.table["n|b"]: missing; ' +
      "expected an accuracy for every path",
  ],
  [
    "method: loki",
    'method: loki\n  accuracyOf: { table: { "n|a": 9 } }',
    'INPUT_INVALID_VALUE app.yaml:26 policy.accuracyOf.table["n|a"]: ' +
      "expected a ratio between 0 and 1 such as 0.58 or 58%, got 9",
  ],
  [
    "method: loki",
    "method: loki\n  accuracyOf: { tabel: {} }",
    'INPUT_UNKNOWN_KEY app.yaml:26 policy.accuracyOf.tabel: unknown key "tabel"; ' +
      'did you mean "table"?',
  ],
  [
    "method: loki",
    "method: loki\n  leafWeights: { detect: 1 }",
    "INPUT_CONFLICT app.yaml:26 policy.leafWeights.detect: " +
      'no leaf task is named "detect"; allowed are identify, caption',
  ],
  [
    "method: loki",
    "method: loki\n  leafWeights: { identify: 0, caption: 0 }",
    "INPUT_CONFLICT app.yaml:26 policy.leafWeights: expected at least one weight above 0",
  ],
  [
    "method: loki",
    "method: loki\n  leafWeights: { identify: 1 }",
    "INPUT_MISSING_KEY app.yaml:26 policy.leafWeights.caption: missing; " +
      "expected a weight for every leaf task",
  ],
  [
    "method: loki",
    "method: loki\n  solver: cplex",
    'INPUT_INVALID_VALUE app.yaml:26 policy.solver: expected one of "auto", "glpk", ' +
      '"highs", got "cplex"',
  ],
])("refuses %j made %j in a pipeline", (from, to, message) => {
  expect(mistakeOfSpec(edited(PIPELINE, from, to), PROFILE)).toBe(message);
});
