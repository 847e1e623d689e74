import { expect, test } from "vitest";
import { diffBundles } from "../../../../../compiler/gate/differences.ts";
import { diffText } from "../../../../../compiler/gate/differences-text.ts";
import { accordionBundle } from "../../../../support/accordion-bundle.ts";

const deep = { name: "deep", accuracy: 0.9, layerMs: [4, 6, 3, 7, 5, 5], hasModel: true };

const told = (before: ReturnType<typeof accordionBundle>, after: typeof before): string[] =>
  diffText(diffBundles(before, after)).split("\n");

test("options and levels differ in words, and figures are no other plan", () => {
  const before = accordionBundle();
  const after = accordionBundle({
    policy: { scheduler: "fastest", regrow: true },
    levels: [{ loadQps: 10, expected: { occupancy: 0.5 } }, { loadQps: 50 }],
  });
  expect(told(before, after)).toEqual([
    "the bundles differ: 3 levels, 2 fields outside the levels",
    "  settings: 2 fields",
    "  levels added: 50 qps",
    "  levels removed: 40 qps",
    "",
    "policy.scheduler: accordion → fastest",
    "policy.regrow: false → true",
    "level 10 qps: other figures",
    "  expected.occupancy: 0.4 → 0.5",
    "level 40 qps: removed",
    "level 50 qps: added",
  ]);
});

test("pipelines differ by the places they have, their stages by their layers", () => {
  const before = accordionBundle({ models: [deep], maxDepth: 2 });
  const after = accordionBundle({
    models: [{ ...deep, layerMs: [12, 6, 3, 7, 5, 5] }],
    maxDepth: 2,
  });
  const lines = told(before, after);
  const at = "tasks[infer].variants[deep]";
  expect(lines).toContain(`${at}.pipelines[2 default].cut: 3 + 3 → 2 + 4`);
  expect(lines).toContain(`${at}.pipelines[2 default].stageMs: 13 + 17 → 18 + 20`);
  expect(lines).toContain(`${at}.pipelines[1 default].latencyMs: 30 → 38`);
  expect(lines).toContain(`${at}.pipelines[2 default].largestMs: 149 → 178`);
  expect(lines).toContain(`${at}.stages[0-3].model.file: deep.0-3.onnx → absent`);
  expect(lines).toContain(`${at}.stages[0-2].model.file: absent → deep.0-2.onnx`);
  expect(lines.join("\n")).not.toContain("SHA-256");
});

test("pipelines that one bundle alone has are absent from the other", () => {
  const at = "tasks[infer].variants[deep].pipelines";
  const models = [{ name: "deep", layerMs: [4, 6, 3] }];
  const before = accordionBundle({ models, maxDepth: 2 });
  const pools = [{ workers: 8 }, { workers: 1, name: "slow", speed: 0.5 }];
  const lines = told(before, accordionBundle({ models, pools, maxDepth: 2 }));
  expect(lines).toContain(`${at}[1 default, 1 slow].cut: absent → 1 + 2`);
  expect(lines.filter((line) => line.includes("[2 default]"))).toEqual([]);
});
