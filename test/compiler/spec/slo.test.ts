/** The SLO of a spec: one, or classes. */
import { expect, test } from "vitest";
import { loadApplication } from "../../../compiler/spec/load-application.ts";
import { edited, folderOf, mistakeOfSpec, PROFILE, SPEC } from "./spec-folder.ts";

const CLASSES =
  "slo: { classes: [{ name: interactive, latency: 150 ms, share: 70% }, { name: " +
  "relaxed, latency: 0.4 s, share: 0.3 }] }";
const ONE = "slo: { latency: 150 ms }";
const WITH_CLASSES = edited(SPEC, ONE, CLASSES);

const applicationOf = (spec: string) => {
  const folder = folderOf({ "app.yaml": spec, "profile.json": PROFILE });
  return loadApplication(`${folder}/app.yaml`).application;
};

test("classes are read in one unit system, and the longest of their SLOs is the SLO", () => {
  expect(applicationOf(WITH_CLASSES).slo).toEqual({
    latencyMs: 400,
    maxViolationRate: null,
    percentile: 99,
    classes: [
      { name: "interactive", latencyMs: 150, share: 0.7 },
      { name: "relaxed", latencyMs: 400, share: 0.3 },
    ],
  });
  expect(applicationOf(SPEC).slo).not.toHaveProperty("classes");
});

test("targets of latency are times of their own", () => {
  const targets = edited(SPEC, ONE, "slo: { latency: 150 ms, p50: 20 ms, p95: 0.05 s }");
  expect(applicationOf(targets).slo).toMatchObject({ latencyMs: 150, p50Ms: 20, p95Ms: 50 });
  expect(applicationOf(SPEC).slo).not.toHaveProperty("p50Ms");
});

test.each([
  [
    "p50: 200 ms",
    "INPUT_CONFLICT app.yaml:3 slo.p50: expected at most the SLO of 150 ms, got 200 ms",
  ],
  [
    "p50: 40 ms, p95: 20 ms",
    "INPUT_CONFLICT app.yaml:3 slo.p50: expected at most slo.p95 of 20 ms, got 40 ms",
  ],
])("targets of latency are within the SLO and ordered: %s", (targets, expected) => {
  const spec = edited(SPEC, ONE, `slo: { latency: 150 ms, ${targets} }`);
  expect(mistakeOfSpec(spec, PROFILE)).toBe(expected);
});

test("methods that keep no targets of latency refuse them", () => {
  const spec = edited(SPEC, ONE, "slo: { latency: 150 ms, p95: 100 ms }");
  expect(mistakeOfSpec(edited(spec, "method: ramsis", "method: loki"), PROFILE)).toBe(
    "INPUT_UNSUPPORTED app.yaml:3 slo.p95: method loki does not support a target of p95; " +
      "allowed: slo.latency alone, or method ramsis",
  );
});

test("shares that are rounded sum to 1 all the same", () => {
  const thirds = ["a", "b", "c"].map((name) => `{ name: ${name}, latency: 1 s, share: 33.3% }`);
  const spec = edited(SPEC, ONE, `slo: { classes: [${thirds.join(", ")}] }`);
  const shares = applicationOf(spec).slo.classes?.map(({ share }) => share) ?? [];
  expect(shares).toHaveLength(3);
  for (const share of shares) expect(share).toBeCloseTo(1 / 3, 12);
});

test("the class option is auto unless the policy sets it", () => {
  expect(applicationOf(WITH_CLASSES).policy).not.toHaveProperty("classes");
  const shared = edited(WITH_CLASSES, "method: ramsis", "method: ramsis\n  classes: shared");
  expect(applicationOf(shared).policy).toMatchObject({ classes: "shared" });
});

const interactive = "{ name: interactive, latency: 150 ms, share: 70% }";
const relaxed = "{ name: relaxed, latency: 0.4 s, share: 0.3 }";

test.each([
  [
    "{ classes: [",
    "{ latency: 1 s, classes: [",
    "INPUT_CONFLICT app.yaml:3 slo.classes: expected latency or classes, got both",
  ],
  [
    CLASSES,
    "slo: { maxViolationRate: 1% }",
    "INPUT_MISSING_KEY app.yaml:3 slo.latency: missing; expected a time above 0 with its unit " +
      "such as 150 ms, or classes",
  ],
  [
    `, ${relaxed}`,
    "",
    "INPUT_INVALID_VALUE app.yaml:3 slo.classes: expected 2 to 16 classes; " +
      "one SLO is slo.latency, got 1",
  ],
  [
    "name: relaxed",
    "name: interactive",
    'INPUT_CONFLICT app.yaml:3 slo.classes[1].name: two classes are named "interactive"; ' +
      "expected different names",
  ],
  [
    "name: relaxed",
    "name: so so",
    "INPUT_INVALID_VALUE app.yaml:3 slo.classes[1].name: expected a letter, " +
      'then up to 63 letters, digits, _ or -, got "so so"',
  ],
  [
    "share: 0.3",
    "share: 0.25",
    "INPUT_CONFLICT app.yaml:3 slo.classes: expected shares that sum to 100%, got 95%",
  ],
  [
    "share: 70%",
    "share: 0",
    "INPUT_INVALID_VALUE app.yaml:3 slo.classes[0].share: expected a share above 0 and below " +
      "1 such as 0.7 or 70%, got 0",
  ],
  [
    "latency: 0.4 s",
    "latency: 400",
    "INPUT_INVALID_VALUE app.yaml:3 slo.classes[1].latency: " +
      "expected a time above 0 with its unit such as 150 ms, got 400",
  ],
  [
    interactive,
    "{ name: interactive, latency: 10 ms, share: 70% }",
    "INPUT_CONFLICT app.yaml:3 slo.classes[0].latency: expected at least the 20 ms of " +
      '"small", the fastest variant of "classify" at batch 1, got 10 ms',
  ],
  [
    "method: ramsis",
    "method: loki",
    "INPUT_UNSUPPORTED app.yaml:3 slo.classes: method loki supports one SLO for all requests; " +
      "allowed: slo.latency, or method ramsis",
  ],
  [
    "method: ramsis",
    "method: themis",
    "INPUT_UNSUPPORTED app.yaml:3 slo.classes: method themis supports one SLO for all requests; " +
      "allowed: slo.latency, or method ramsis",
  ],
  [
    "method: ramsis",
    "method: ramsis\n  balancer: round-robin",
    'INPUT_CONFLICT app.yaml:16 policy.balancer: expected "pooled", ' +
      'since slo has classes, got "round-robin"',
  ],
  [
    "method: ramsis",
    "method: ramsis\n  classes: both",
    'INPUT_INVALID_VALUE app.yaml:16 policy.classes: expected one of "auto", ' +
      '"shared", "separate", got "both"',
  ],
])("refuses classes: %s as %s", (before, after, mistake) => {
  expect(mistakeOfSpec(edited(WITH_CLASSES, before, after), PROFILE)).toBe(mistake);
});

test("classes of the policy without those of the SLO are refused", () => {
  expect(
    mistakeOfSpec(edited(SPEC, "method: ramsis", "method: ramsis\n  classes: shared"), PROFILE),
  ).toBe(
    "INPUT_CONFLICT app.yaml:16 policy.classes: expected no value, " +
      'since slo has no classes, got "shared"',
  );
});
