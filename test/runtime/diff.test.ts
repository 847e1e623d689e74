import { expect, test } from "vitest";
import type { RamsisBundle } from "../../runtime/bundle/schema.ts";
import { diffText } from "../../runtime/commands/diff.ts";
import { diffBundles } from "../../runtime/diff.ts";
import { sampleBundle } from "../support/sample-bundle.ts";

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
  expect(diffText(diff).split("\n")).toEqual([
    "level 40 qps: 2 of 35 states decided otherwise",
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
  expect(diffText(diffBundles(both, first))).toBe("level 80.5 qps: removed");
  expect(diffText(diffBundles(first, both))).toBe("level 80.5 qps: added");
});
