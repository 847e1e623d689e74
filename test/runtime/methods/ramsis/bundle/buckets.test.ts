/** What bundles with buckets have to say, and are refused for. */
import { expect, test } from "vitest";
import { bytesOfBundle, valueOfBytes } from "../../../../../runtime/bundle/codec.ts";
import type { RamsisBundle, Table } from "../../../../../runtime/bundle/schema.ts";
import { readRamsisBundle } from "../../../../../runtime/methods/ramsis/bundle/fields.ts";
import { bucketBundle } from "../../../../support/bucket-bundle.ts";

const BUNDLE = bucketBundle();

test("a bundle with buckets is read as it was written", () => {
  expect(readRamsisBundle(BUNDLE)).toEqual(BUNDLE);
});

type Buckets = NonNullable<RamsisBundle["buckets"]>;
const [SMALL, LARGE] = BUNDLE.buckets as [Buckets[0], Buckets[1]];
const [LEVEL] = BUNDLE.levels as [RamsisBundle["levels"][0]];

function withBuckets(...buckets: Buckets): RamsisBundle {
  return { ...BUNDLE, buckets };
}

function withLevel(changed: Partial<RamsisBundle["levels"][0]>): RamsisBundle {
  return { ...BUNDLE, levels: [{ ...LEVEL, ...changed }] };
}

function withPadding(buckets: NonNullable<unknown>): RamsisBundle {
  const tasks = BUNDLE.tasks.map((task) => ({
    ...task,
    variants: task.variants.map((variant) => ({
      ...variant,
      model: variant.model && { ...variant.model, ...buckets },
    })),
  }));
  return { ...BUNDLE, tasks };
}

const { buckets: _none, ...PLAIN } = BUNDLE;
const table = LEVEL.actionByState;
const cellsOf = (data: Uint16Array): Table => ({ dtype: "uint16", shape: table.shape, data });
const wild = cellsOf(Uint16Array.from(table.data, () => 999));
const other = cellsOf(Uint16Array.from(table.data).with(12, 0));
const early: Table = {
  dtype: "float64",
  shape: LARGE.slackMs.shape,
  data: Float64Array.from(LARGE.slackMs.data, (ms) => ms / 2),
};
const axis = { inputs: [{ input: 0, axis: 1 }], padding: 0 };

test.each<[string, RamsisBundle, string]>([
  ["names twice", withBuckets({ ...SMALL, name: "8" }, LARGE), "buckets[1].name"],
  ["shares above 1", withBuckets({ ...SMALL, share: 0.9 }, LARGE), "buckets: expected a sum of 1"],
  [
    "a grid that ends early",
    withBuckets({ ...SMALL, slackMs: early }, LARGE),
    "buckets[0].slackMs",
  ],
  [
    "other times of the largest than of the task",
    withBuckets(SMALL, { ...LARGE, serviceTimes: SMALL.serviceTimes }),
    "tasks[0].serviceTimes: expected those of the last of buckets",
  ],
  [
    "a queue for each worker",
    { ...BUNDLE, policy: { ...BUNDLE.policy, balancer: "round-robin" } },
    "policy.balancer",
  ],
  ["a table less", withLevel({ bucketTables: [table] }), "levels[0].bucketTables"],
  ["an action that there is not", withLevel({ bucketTables: [wild, table] }), "bucketTables[0]"],
  [
    "another table for the largest",
    withLevel({ bucketTables: [table, other] }),
    "levels[0].actionByState: expected that of the last",
  ],
  ["tables without buckets", PLAIN, "model.buckets: expected none, as buckets, got 4, 8"],
  [
    "state beside sizes",
    withPadding({ state: [{ input: "x", output: "y" }] }),
    "tasks[0].variants[0].model.buckets: expected none beside state, got some",
  ],
  [
    "a model of other sizes",
    withPadding({ buckets: [{ ...axis, sizes: [4, 16] }] }),
    "tasks[0].variants[0].model.buckets: expected 4, 8, as buckets, got 4, 16",
  ],
])("%s are refused", (_, bundle, message) => {
  expect(() => readRamsisBundle(bundle)).toThrow(message);
});

test("a bundle with buckets keeps its bytes", () => {
  const bytes = bytesOfBundle(BUNDLE);
  expect(bytesOfBundle(readRamsisBundle(valueOfBytes(bytes)))).toEqual(bytes);
});
