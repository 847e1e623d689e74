/** Times by bucket in profiles, and lists of sizes in specs. */
import { join } from "node:path";
import { expect, test } from "vitest";
import { loadApplication } from "../../../compiler/spec/load-application.ts";
import { readProfile } from "../../../compiler/spec/profile.ts";
import { edited, folderOf, mistakeOfSpec, PROFILE, SPEC } from "./spec-folder.ts";

const ROWS = '"latencyMs": { "1": 20, "2": 30, "10": 90 }';
const BUCKETS = `"byBucket": { "320": { "1": 20 }, "64": { "1": 9, "2": 12 } }`;

function variantOf(profile: string) {
  const folder = folderOf({ "profile.json": profile });
  return readProfile(join(folder, "profile.json")).variants.get("small")?.profile;
}

test("buckets ascend by their sizes, the first axis slowest", () => {
  const rows = (name: string) => `"${name}": { "1": 5 }`;
  const names = ["48x640", "32x96", "48x96", "32x640"];
  const profile = edited(PROFILE, ROWS, `"byBucket": { ${names.map(rows).join(", ")} }`);
  expect(variantOf(profile)?.buckets?.map(({ name, sizes }) => [name, sizes])).toEqual([
    ["32x96", [32, 96]],
    ["32x640", [32, 640]],
    ["48x96", [48, 96]],
    ["48x640", [48, 640]],
  ]);
});

test("a reader without buckets gets the times of the largest", () => {
  const variant = variantOf(edited(PROFILE, ROWS, BUCKETS));
  expect(variant?.rows).toEqual([{ batch: 1, latencyMs: 20, quantiles: null }]);
  expect(variant?.buckets?.map(({ name, rows }) => [name, rows.length])).toEqual([
    ["64", 2],
    ["320", 1],
  ]);
});

const AT = "profile.json:6 variants.small.byBucket";

test.each([
  [
    '"byBucket": {}',
    `INPUT_INVALID_VALUE ${AT}: expected at least one bucket, got an empty mapping`,
  ],
  [
    '"byBucket": { "64": { "1": 1 }, "64x2": { "1": 1 } }',
    `INPUT_CONFLICT ${AT}["64x2"]: expected 1 sizes as of "64", got 64x2`,
  ],
  [
    '"byBucket": { "1x1": { "1": 1 }, "2x2": { "1": 1 } }',
    `INPUT_CONFLICT ${AT}: expected all 4 combinations of the sizes, got 2`,
  ],
  [
    '"byBucket": { "64": {} }',
    `INPUT_INVALID_VALUE ${AT}["64"]: expected at least one batch size, got an empty mapping`,
  ],
])("%s is refused", (buckets, message) => {
  expect(mistakeOfSpec(SPEC, edited(PROFILE, ROWS, buckets))).toBe(message);
});

test("shares of buckets are read as parts of their sum", () => {
  const spec = edited(SPEC, "    variants:", "    bucketShares: [30%, 20%, 50%]\n    variants:");
  const folder = folderOf({ "app.yaml": spec, "profile.json": PROFILE });
  const [task] = loadApplication(join(folder, "app.yaml")).application.tasks;
  expect(task?.bucketShares).toEqual([0.3, 0.2, 0.5]);
});

test.each([
  ["accordion", "got 160, 320; allowed: one size, a task for each size, or method ramsis or loki"],
  ["loki", "tasks[0].variants[0].model: expected a readable file"],
])("a list of sizes with method %s", (method, message) => {
  const variant = `- { name: small, accuracy: 0.58, profile: profile.json#small`;
  const axes = "axes: { width: [160, 320] }";
  const listed = edited(SPEC, variant, `${variant}, model: m.onnx, ${axes}`);
  const spec = edited(listed, "method: ramsis", `method: ${method}`);
  expect(mistakeOfSpec(spec, PROFILE)).toContain(message);
});

test.each([
  ["accordion", "method accordion has one size, whatever the shares of the sizes"],
  ["loki", "method loki plans with the times of the largest size, whatever the shares"],
])("shares of sizes are refused with method %s", (method, message) => {
  const shares = edited(SPEC, "    variants:", "    bucketShares: [50%, 50%]\n    variants:");
  const spec = edited(shares, "method: ramsis", `method: ${method}`);
  expect(mistakeOfSpec(spec, PROFILE)).toContain(message);
});
