import { expect, test } from "vitest";
import {
  decodeBundle,
  encodeBundle,
  validateBundle,
} from "../../../../../runtime/bundles/checked-bundle.ts";
import { chainBundle, treeBundle } from "../../../../support/loki-samples.ts";
import { changedAt, refusal } from "../../../../support/refused-bundle.ts";

const chainWith = (path: string, value: unknown): unknown => changedAt(chainBundle(), path, value);

test("accepts a chain and a tree, and gives back what was encoded, byte for byte", () => {
  for (const bundle of [chainBundle(), treeBundle()]) {
    expect(validateBundle(bundle)).toEqual(bundle);
    const bytes = encodeBundle(bundle);
    expect(decodeBundle(bytes)).toEqual(bundle);
    expect(Buffer.compare(encodeBundle(decodeBundle(bytes)), bytes)).toBe(0);
  }
});

test.each<[string, unknown, string]>([
  ["decisionSpace", {}, 'got the key "decisionSpace"'],
  ["leaves", [], "leaves: expected an array of 1 to 64"],
  ["tasks[0].parent", -1, "tasks[0].parent: expected an integer"],
  ["tasks[0].variants[0].fanouts[0]", -0.5, "fanouts[0]: expected a number from 0"],
  ["tasks[0].variants[0].fanouts[0]", Number.NaN, "fanouts[0]: expected a number from 0"],
  ["policy.drop", "sometimes", 'policy.drop: expected "none" or "last-task"'],
  ["policy.sloFraction", 1.5, "policy.sloFraction: expected a number above 0"],
  ["levels[0].plan.instances[0].replicas", 0, "replicas: expected an integer from 1"],
  ["levels[0].plan.nodes", [], "nodes: expected an array of 1 to"],
  ["levels[0].solve.status", "unknown", 'status: expected "optimal" or "feasible"'],
  ["levels[0].expected.violationRate", 2, "violationRate: expected a number from 0 to 1"],
])("refuses %s = %j for its shape", (path, value, message) => {
  const found = refusal(chainWith(path, value));
  expect(found).toMatch(/^BUNDLE_SCHEMA [^\n]*; compile the bundle again$/);
  expect(found).toContain(message);
});

test.each<[string, unknown, string]>([
  ["tasks[1].parent", 1, "tasks[1].parent: expected the index of an earlier task, got 1"],
  ["tasks[1].name", "detect", 'tasks[1].name: expected a name of its own, got "detect" again'],
  ["tasks[1].entryShare", 0.5, "expected 1, since it is no entry"],
  ["tasks[0].feed", { inputs: [{ input: "x", output: "y" }], count: null }, "expected null"],
  ["tasks[0].variants[0].fanouts", [1, 1], "fanouts.length: expected 1, one per task"],
  ["tasks[0].variants[0].profiles", [null, null], "profiles.length: expected 1, one per pool"],
  ["leaves[0].task", 0, "leaves: expected tasks 1, those that no task follows, got tasks 0"],
  ["leaves[0].weight", 0.5, "leaves: expected a sum of 1, got weights of 0.5"],
  ["levels[0].plan.instances[0].variant", 7, "expected the index of a variant, got 7"],
  ["levels[0].plan.instances[0].pool", 1, "expected the index of a pool"],
  ["levels[0].plan.instances[0].batch", 5, "batch: expected at most 4, as profiled, got 5"],
  ["levels[0].plan.instances[0].replicas", 9, "servers: expected 11, the replicas, got 4"],
  ["levels[0].plan.servers", 5, "servers: expected 4, the replicas, got 5"],
  ["levels[0].plan.nodes[1].parent", null, "expected a node of the task before"],
  ["levels[0].plan.nodes[1].parent", 1, "expected the index of an earlier node"],
  ["levels[0].plan.nodes[1].instance", 2, "expected the index of an instance, got 2"],
  ["levels[0].plan.nodes[1].ratio", 0.9, "expected all of them, got 0.9 of the requests"],
  ["levels[1].loadQps", 75, "levels[1].loadQps: expected more than 75"],
  ["levels[0].capacityQps", 70, "feasible: expected true only up to 70 qps, got true"],
  ["levels[0].stages", [null], "stages.length: expected 2, one per task"],
])("refuses %s = %j for what it contradicts", (path, value, message) => {
  const found = refusal(chainWith(path, value));
  expect(found).toMatch(/^BUNDLE_SEMANTICS [^\n]*; compile the bundle again$/);
  expect(found).toContain(message);
});
