import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { NO_ACTION, type RamsisBundle } from "../../../runtime/bundle/schema.ts";
import { PolicyTable } from "../../../runtime/core/policy-table.ts";
import { tinyBundle } from "../../support/tiny-bundle.ts";

/**
 * A bundle with a given slack grid whose tables number their cells, so that an action tells which
 * cell was read.
 */
function numberedBundle(
  slackMs: readonly number[],
  maxQueue: number,
  levelCount: number,
): RamsisBundle {
  const bundle = tinyBundle({ maxQueue });
  const stateCount = (maxQueue + 1) * slackMs.length;
  const actions = Uint16Array.from(
    { length: 2 * stateCount * levelCount },
    (_, i) => 1 + ((i >> 1) % 60_000),
  );
  const [level] = bundle.levels;
  if (level === undefined) throw new Error("a tiny bundle has a level");
  return {
    ...bundle,
    decisionSpace: {
      maxQueue,
      slackMs: { dtype: "float64", shape: [slackMs.length], data: Float64Array.from(slackMs) },
      actions: { dtype: "uint16", shape: [stateCount * levelCount, 2], data: actions },
    },
    levels: Array.from({ length: levelCount }, (_, index) => ({
      ...level,
      loadQps: 100 * (index + 1),
      actionByState: {
        dtype: "uint16",
        shape: [maxQueue + 1, slackMs.length],
        data: Uint16Array.from({ length: stateCount }, (_, state) => index * stateCount + state),
      },
    })),
  };
}

/**
 * The definition, word for word: the last entry that is not above the slack, the first when there
 * is none.
 */
function columnOf(slackMs: number, grid: readonly number[]): number {
  return Math.max(
    0,
    grid.findLastIndex((entry) => entry <= slackMs),
  );
}

const uniformGrid = fc
  .record({
    sloMs: fc.double({ min: 0.1, max: 1000, noNaN: true }),
    steps: fc.integer({ min: 1, max: 120 }),
  })
  .map(({ sloMs, steps }) => Array.from({ length: steps + 1 }, (_, j) => (sloMs * j) / steps));
const anyGrid = fc
  .uniqueArray(fc.double({ min: 1e-3, max: 1000, noNaN: true }), { maxLength: 40 })
  .map((entries) => [0, ...entries.sort((a, b) => a - b)]);

describe("PolicyTable", () => {
  it("reads the cell of the definition, on any grid, at and around every entry", () => {
    fc.assert(
      fc.property(
        fc.oneof(uniformGrid, anyGrid),
        fc.integer({ min: 1, max: 4 }),
        fc.array(fc.double({ min: -10, max: 1100, noNaN: true }), { maxLength: 20 }),
        (grid, maxQueue, slacks) => {
          const table = PolicyTable.fromBundle(numberedBundle(grid, maxQueue, 2));
          const atEntries = grid.flatMap((entry) => [
            entry,
            entry * (1 - 2 ** -52),
            entry * (1 + 2 ** -52),
          ]);
          for (const slackMs of [...slacks, ...atEntries]) {
            for (let queued = 1; queued <= maxQueue + 3; queued++) {
              const row = Math.min(queued, maxQueue + 1) - 1;
              const cell = (maxQueue + 1 + row) * grid.length + columnOf(slackMs, grid);
              expect(table.lookup(1, queued, slackMs)).toBe(cell);
            }
          }
        },
      ),
      { numRuns: 50 },
    );
  });

  it("names the variant and the batch of an action", () => {
    const table = PolicyTable.fromBundle(tinyBundle());
    const action = table.lookup(0, 2, 60);
    expect([table.variant(action), table.batch(action)]).toEqual([1, 2]);
  });

  it("refuses a bundle that leaves a state without a decision", () => {
    const bundle = tinyBundle();
    bundle.levels[0]?.actionByState.data.fill(NO_ACTION, 5, 6);
    expect(() => PolicyTable.fromBundle(bundle)).toThrow("every state has a decision");
  });

  it("refuses a slack grid that does not ascend", () => {
    expect(() => PolicyTable.fromBundle(numberedBundle([0, 2, 2], 1, 1))).toThrow("ascends");
  });
});
