import { expect, test } from "vitest";
import { diffBundles } from "../../../../../compiler/gate/differences.ts";
import { diffText } from "../../../../../compiler/gate/differences-text.ts";
import { themisModels } from "../../../../../runtime/methods/themis/serve/models.ts";
import { inferlineSample } from "../../../../support/inferline-samples.ts";
import { themisBundle } from "../../../../support/themis-bundle.ts";
import { themisSample } from "../../../../support/themis-samples.ts";

test("levels differ by their plans, and by what bursts make of them, in words", () => {
  const levels = [
    {
      loadQps: 20,
      steady: [
        [1, 1, 1],
        [1, 1, 1],
      ],
    },
    {
      loadQps: 60,
      steady: [
        [1, 4, 1],
        [1, 1, 1],
      ],
      horizontal: [
        [2, 1, 2],
        [1, 1, 1],
      ],
      vertical: [
        [2, 2, 1],
        [1, 1, 1],
      ],
    },
    {
      loadQps: 150,
      steady: [
        [4, 2, 2],
        [2, 1, 2],
      ],
    },
  ] as const;
  const text = diffText(diffBundles(themisBundle(), themisBundle({ levels }))).split("\n");
  expect(text.filter((line) => line.startsWith("level"))).toEqual([
    "level 20 qps: another plan",
    "level 60 qps: another plan",
  ]);
  expect(text).toContain("  joint.stages[detect].batch: 2 → 1");
  expect(text).toContain("  steady.stages[detect].cores: 2 → 4");
  // From the first level, a burst goes to the batch of the second.
  expect(text).toContain("  bursts[60 qps].stages[detect].batch: 2 → 1");
  expect(text).toContain("  bursts[60 qps].stages[detect].cores: 2 → 3");
  expect(text.join("\n")).not.toContain("transitions");
});

test("a level that only one bundle has is not told as bursts of the others", () => {
  const before = themisBundle();
  const after = themisBundle({
    levels: [
      {
        loadQps: 20,
        steady: [
          [1, 1, 1],
          [1, 1, 1],
        ],
      },
    ],
  });
  const { fields, levels } = diffBundles(before, after);
  expect(fields).toEqual([]);
  expect(levels.map(({ loadQps, change }) => [loadQps, change])).toEqual([
    [60, "removed"],
    [150, "removed"],
  ]);
});

test("another latency model is a difference of the bundle", () => {
  const before = themisBundle();
  const after = themisBundle({
    tasks: [
      { name: "detect", accuracy: 0.9, fit: { gamma: 20, epsilon: 10, delta: 1, eta: 3 } },
      { name: "rank", from: { detect: 1 }, fit: { gamma: 8, epsilon: 4, delta: 0.5, eta: 2 } },
    ],
  });
  const text = diffText(diffBundles(before, after));
  expect(text).toContain("tasks[detect].variants[detect].latency.fit.eta: 4 → 3");
  expect(text).toMatch(/latency\.ms\.data: 32 values, SHA-256 .* → 32 values, SHA-256/);
});

test("levels of another method are other plans", () => {
  const { levels } = diffBundles({ ...inferlineSample(), application: "scales" }, themisSample());
  expect(levels.map(({ loadQps, change }) => [loadQps, change])).toContainEqual([10, "added"]);
  expect(levels.map(({ loadQps, change }) => [loadQps, change])).toContainEqual([40, "changed"]);
});

test("single queries and the batches of plans and bursts are warmed", () => {
  expect(themisModels(themisBundle()).map((model) => model.warmBatches)).toEqual([
    [1, 2, 4],
    [1, 2],
  ]);
  const bursts = themisBundle({
    levels: [
      {
        loadQps: 20,
        steady: [
          [1, 1, 1],
          [1, 1, 1],
        ],
      },
    ],
    transitions: [
      [
        [
          [1, 1, 0],
          [1, 1, 0],
        ],
      ],
    ],
  });
  expect(themisModels(bursts).map((model) => model.warmBatches)).toEqual([[1], [1]]);
});
