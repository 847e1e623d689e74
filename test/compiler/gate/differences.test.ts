import { expect, test } from "vitest";
import { diffBundles } from "../../../compiler/gate/differences.ts";
import { diffText } from "../../../compiler/gate/differences-text.ts";
import type { RamsisBundle } from "../../../runtime/bundle/schema.ts";
import { sampleBundle } from "../../support/sample-bundle.ts";

test("fields differ by path, items of lists by name", () => {
  const before = sampleBundle();
  const after: RamsisBundle = {
    ...before,
    slo: { ...before.slo, maxViolationRate: null },
    tasks: before.tasks.map((task) => ({
      ...task,
      variants: task.variants.map((variant) => ({ ...variant, accuracy: 0.75 })),
    })),
  };
  const diff = diffBundles(before, after);
  expect(diff.same).toBe(false);
  expect(diff.fields).toEqual([
    { path: "slo.maxViolationRate", before: 0.05, after: null },
    { path: "tasks[classify].variants[small].accuracy", before: 0.6, after: 0.75 },
  ]);
  expect(diffText(diff)).toContain("slo.maxViolationRate: 0.05 → null");
});

test("levels differ by what they promise and by decisions, in words", () => {
  const before = sampleBundle();
  const after = sampleBundle();
  // queued 3, slack 80 and 100 ms: from the large variant to the small one.
  after.levels[0]?.actionByState.data.set([2, 2], 18);
  const diff = diffBundles(before, after);
  expect(diff.fields).toEqual([]);
  expect(diff.levels).toEqual([
    {
      loadQps: 40,
      change: "changed",
      fields: [],
      changedStates: 2,
      states: 35,
      examples: [
        {
          queued: 3,
          slackMs: 80,
          before: { variant: "lärge", batch: 3 },
          after: { variant: "small", batch: 3 },
        },
        {
          queued: 3,
          slackMs: 100,
          before: { variant: "lärge", batch: 3 },
          after: { variant: "small", batch: 3 },
        },
      ],
    },
  ]);
  expect(diffText(diff, { levelCount: 2 }).split("\n")).toEqual([
    "the bundles differ: 1 level of 2, 0 fields outside the levels",
    "  decisions: changed at 40 qps, most at 40 qps: 2 of 35 states",
    "",
    "level 40 qps: 2 of 35 states decided differently",
    "  queued 3, slack 80 ms: lärge ×3 → small ×3",
    "  queued 3, slack 100 ms: lärge ×3 → small ×3",
  ]);
});

test("renumbered actions are not a difference of decisions", () => {
  const before = sampleBundle();
  const { actions } = before.decisionSpace;
  const count = actions.data.length / 2;
  const reversed = Uint16Array.from(actions.data, (_, cell) => {
    const action = count - 1 - (cell >> 1);
    return actions.data[2 * action + (cell % 2)] ?? 0;
  });
  const after: RamsisBundle = {
    ...before,
    decisionSpace: {
      ...before.decisionSpace,
      actions: { dtype: "uint16", shape: actions.shape, data: reversed },
    },
    levels: before.levels.map((level) => ({
      ...level,
      actionByState: {
        dtype: "uint16",
        shape: level.actionByState.shape,
        data: Uint16Array.from(level.actionByState.data, (action) => count - 1 - action),
      },
    })),
  };
  const { fields, levels } = diffBundles(before, after);
  expect(fields.map(({ path }) => path)).toEqual(["decisionSpace.actions.data"]);
  expect(levels).toEqual([]);
});

test("levels that come and go are named by their load", () => {
  const both = sampleBundle();
  const first: RamsisBundle = { ...both, levels: both.levels.slice(0, 1) };
  expect(diffText(diffBundles(both, first))).toMatch(
    /levels removed: 80.5 qps\n\nlevel 80.5 qps: r/,
  );
  expect(diffText(diffBundles(first, both))).toMatch(/levels added: 80.5 qps\n\nlevel 80.5 qps: a/);
});

/** As many variants as make a long list of differences, each more accurate by a tenth. */
function manyVariants(): RamsisBundle {
  const bundle = sampleBundle();
  const provenance = {
    ...bundle.provenance,
    inputs: Array.from({ length: 60 }, (_, index) => {
      return { path: `profile-${index}.json`, sha256: "0".repeat(64) };
    }),
  };
  return { ...bundle, provenance };
}

test("a summary comes first, and a screen of details with how to see the others", () => {
  const diff = diffBundles(sampleBundle(), manyVariants());
  const lines = diffText(diff, { allBy: "X shows them" }).split("\n");
  expect(lines.slice(0, 3)).toEqual([
    "the bundles differ: 0 levels, 124 fields outside the levels",
    "  compiler and input files: 124 fields",
    "",
  ]);
  expect(lines.length).toBeLessThanOrEqual(40);
  expect(lines.at(-1)).toBe("and 88 lines more; X shows them");
  const all = diffText(diff).split("\n");
  expect(all).toHaveLength(127);
  expect(all.at(-1)).not.toContain("X shows");
});

test("reports the largest change of a promise with its load", () => {
  const before = sampleBundle();
  const after: RamsisBundle = {
    ...before,
    levels: before.levels.map((level, index) => ({
      ...level,
      expected: { ...level.expected, accuracyPerQuery: 0.68 - 0.01 * index, violationRate: 0.02 },
    })),
  };
  const lines = diffText(diffBundles(before, after), { levelCount: 2 }).split("\n");
  expect(lines.slice(0, 4)).toEqual([
    "the bundles differ: 2 levels of 2, 0 fields outside the levels",
    "  expected.accuracyPerQuery: 69.000% → 67.000% at 80.5 qps, the largest change of 2 levels",
    "  expected.violationRate: 1.000% → 2.000% at 40 qps, the largest change of 2 levels",
    "",
  ]);
});
