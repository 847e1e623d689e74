import { expect, test } from "vitest";
import { readThemisBundle } from "../../../../../runtime/methods/themis/bundle/fields.ts";
import { changedAt } from "../../../../support/refused-bundle.ts";
import { choiceBundle, type VariantSketch } from "../../../../support/themis-choices.ts";

function variant(name: string, accuracy: number, ms: number, pool = 0): VariantSketch {
  return { name, accuracy, pool, latencyMs: [[ms], [ms / 1.8]] };
}

const POOL = { workers: 2, cores: 2, pricePerHour: 1 };
/** The accurate one at the low load, the other where it has no room. */
const BUNDLE = choiceBundle(
  {
    tasks: [[variant("large", 0.9, 20), variant("small", 0.8, 5), variant("large", 0.9, 40, 1)]],
    pools: [POOL, { ...POOL, pricePerHour: 2 }],
    sloMs: 100,
    policy: { queueing: "paper", maxBatch: 1, maxCores: 2 },
  },
  [40, 500],
);

test("reads plans of several variants in several pools", () => {
  const { levels } = readThemisBundle(plain(BUNDLE));
  expect(levels.map(({ steady }) => steady.stages[0]?.variant ?? 0)).toEqual([0, 1]);
});

test.each<[string, unknown, string]>([
  [
    "tasks[0].variants[1].name",
    "large",
    'variants[1].name: expected a name of its own, got "large',
  ],
  ["tasks[0].variants[2].pool", 2, "tasks[0].variants[2].pool: expected at most 1, got 2"],
  ["levels[1].steady.stages[0].variant", 3, "stages[0].variant: expected at most 2, got 3"],
  ["levels[1].steady.stages[0].variant", 2, "expected at least 500 qps, the load of the task"],
  ["cluster.pools[0].workers", 1, "at most 2, those of pool 0"],
  ["cluster.pools[1].cores", 1, "variants[2].latency.ms.shape[0]: expected at most 1, got 2"],
  ["cluster.pools[1].name", "pool-0", "cluster.pools[1].name: expected a name of its own"],
])("refuses %s = %j for what it contradicts", (path, value, message) => {
  expect(() => readThemisBundle(changedAt(plain(BUNDLE), path, value))).toThrow(message);
});

test.each<[string, unknown]>([
  ["tasks[0].variants[2].pool", 0],
  ["levels[1].steady.stages[0].variant", 0],
])("refuses %s = %j, since the first is left out", (path, value) => {
  expect(() => readThemisBundle(changedAt(plain(BUNDLE), path, value))).toThrow("from 1");
});

function plain<T>(bundle: T): T {
  return structuredClone(bundle);
}
