/**
 * A sixth method, a page of code, is a thing that is added: it lies in two folders of its own and
 * is named in the lists of methods, and compiles, verifies, simulates, serves and reports.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { TRIES_ALL } from "../support/cases.ts";
import { LATENCIES, TWO_VARIANTS } from "./application.ts";
import { commandLineContract } from "./command-line.ts";
import { type ToyTree, toyTree } from "./toy-tree.ts";

describe.runIf(TRIES_ALL)("a method more (npm run test:system)", () => {
  let tree: ToyTree;
  beforeAll(() => {
    tree = toyTree();
  }, 120_000);
  afterAll(() => tree?.remove());

  test("a method is added by its own folders, and by its name in the lists of methods", () => {
    expect(tree.touched).toEqual([
      "compiler/methods/registry.ts",
      "compiler/spec/application.ts",
      "compiler/spec/policy.ts",
      "compiler/spec/schema/policy-schema.ts",
      "runtime/bundle/schema.ts",
      "runtime/methods/every-method.ts",
      "runtime/methods/registry.ts",
    ]);
  });

  commandLineContract(
    "fixed",
    {
      tasks: TWO_VARIANTS,
      policy: { method: "fixed", variant: "small", maxBatch: 4 },
      cluster: { workers: 1 },
      measured: LATENCIES,
      promised: "levels[0].expected.latencyMsP99",
      baselines: [],
      foreignBaseline: "proteus",
      state: null,
      answered: ["y"],
      model: "echo",
    },
    () => tree,
  );
});
