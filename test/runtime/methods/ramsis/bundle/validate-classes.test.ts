/** What a bundle with classes has to say. */
import { expect, test } from "vitest";
import {
  decodeBundle,
  encodeBundle,
  validateBundle,
} from "../../../../../runtime/bundles/checked-bundle.ts";
import { withBytes } from "../../../../support/bundle-fixtures.ts";
import { classBundle } from "../../../../support/class-bundle.ts";
import { changedAt, refusal } from "../../../../support/refused-bundle.ts";
import { sampleBundle } from "../../../../support/sample-bundle.ts";

const apart = () => classBundle({ split: [1, 1] });
const apartWith = (path: string, value: unknown): unknown => changedAt(apart(), path, value);

test("accepts classes with one queue or own workers, and gives back what was encoded", () => {
  for (const bundle of [classBundle(), apart()]) {
    expect(validateBundle(bundle)).toEqual(bundle);
    expect(validateBundle(withBytes(bundle))).toEqual(bundle);
    expect(decodeBundle(encodeBundle(bundle))).toEqual(bundle);
  }
});

test("a bundle of one SLO has no word of classes in its file", () => {
  const decoded = decodeBundle(encodeBundle(sampleBundle()));
  expect(JSON.stringify(decoded)).not.toMatch(/class[^i]/);
});

test.each<[string, unknown, string]>([
  ["slo.classes", [], "slo.classes: expected an array of 2 to 16, got 0 items"],
  ["slo.classes[0].name", "a b", "slo.classes[0].name: expected a letter, then up to 63 letters"],
  ["slo.classes[0].name", "__proto__", "slo.classes[0].name: expected a letter"],
  ["slo.classes[0].share", 1, "slo.classes[0].share: expected a number above 0 and below 1"],
  ["slo.classes[0].latencyMs", 0, "slo.classes[0].latencyMs: expected a number from 0.0"],
  ["slo.classes[0].colour", "red", "only the keys latencyMs, name, share"],
  ["policy.classes", "both", 'policy.classes: expected "auto" or "shared" or "separate"'],
  ["classSpaces[1].maxQueue", 0, "classSpaces[1].maxQueue: expected an integer from 1"],
  ["levels[0].classTables[0].workers", 0, "classTables[0].workers: expected an integer from 1"],
  ["levels[0].classTables[1].actionByState.dtype", "float64", 'expected "uint16"'],
  ["levels[0].expected.byClass.relaxed", undefined, 'expected the key "relaxed"'],
  ["levels[0].expected.byClass.third", {}, 'got the key "third"'],
  ["levels[0].expected.byClass.relaxed.violationRate", 2, "a number from 0 to 1"],
])("refuses %s = %o for its shape", (path, value, message) => {
  const found = refusal(apartWith(path, value));
  expect(found).toMatch(/^BUNDLE_SCHEMA [^\n]*; compile the bundle again$/);
  expect(found).toContain(message);
});

test.each<[string, unknown, string]>([
  ["policy.classes", undefined, "policy.classes: expected a value, as slo.classes, got nothing"],
  ["classSpaces", undefined, "classSpaces: expected a value, as slo.classes, got nothing"],
  ["slo.classes[1].share", 0.3, "slo.classes: expected a sum of 1, got shares of 1.05"],
  [
    "slo.classes[1].latencyMs",
    300,
    "slo.latencyMs: expected 300, the longest of slo.classes, got 400",
  ],
  ["policy.balancer", "round-robin", 'policy.balancer: expected "pooled", since there are classes'],
  ["classSpaces[0].slackMs.data[10]", 120, "expected 100, slo.classes[0].latencyMs, got 120"],
  ["policy.classes", "shared", "levels[0].classTables: expected nothing, as policy.classes says"],
  [
    "levels[0].classTables[0].workers",
    2,
    "levels[0].classTables: expected 2, those of the cluster, got 3 workers",
  ],
  [
    "levels[0].classTables[1].actionByState.data[3]",
    7,
    "classTables[1].actionByState.data[3]: expected an action for 1 queued",
  ],
  [
    "levels[0].expected.byClass",
    undefined,
    "levels[0].expected.byClass: expected a value if and only if there are slo.classes",
  ],
  [
    "levels[0].expected.byClass.relaxed.violationRate",
    0.02,
    "levels[0].feasible: expected true only up to violation rate 0.01 of each class, " +
      "got true with violation rate 0.02 of class relaxed",
  ],
])("refuses %s = %o for what it contradicts", (path, value, message) => {
  const found = refusal(apartWith(path, value));
  expect(found).toMatch(/^BUNDLE_SEMANTICS [^\n]*; compile the bundle again$/);
  expect(found).toContain(message);
});

test("workers of their own that are asked for have to be there at every level", () => {
  expect(refusal(changedAt(classBundle(), "policy.classes", "separate"))).toContain(
    "levels[0].classTables: expected a table for each class, as policy.classes says, got nothing",
  );
});

test("what is said of classes is said only where there are classes, of different names", () => {
  expect(refusal(changedAt(classBundle(), "slo.classes", undefined))).toContain(
    'servedBoundAccuracy, got the key "byClass"',
  );
  const once = { interactive: apart().levels[0]?.expected.byClass?.["relaxed"] };
  const twice = changedAt(apart(), "levels[0].expected.byClass", once) as object;
  expect(refusal(changedAt(twice, "slo.classes[1].name", "interactive"))).toContain(
    'slo.classes[1].name: expected a name of its own, got "interactive" again',
  );
});

test("only tables have classes", () => {
  const classes = apart().slo.classes;
  expect(refusal(changedAt(sampleBundle(), "slo.classes", classes))).toContain("policy.classes");
});
