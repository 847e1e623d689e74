import { describe, expect, test } from "vitest";
import { timelyBatches } from "../../../../../runtime/methods/inferline/core/timely-batches.ts";
import { type InferlineTaskSketch, inferlineBundle } from "../../../../support/inferline-bundle.ts";

const A: InferlineTaskSketch = { name: "a", latencyMs: { 1: 40 } };
const B: InferlineTaskSketch = {
  name: "b",
  from: { a: 1 },
  latencyMs: { 1: 30, 2: 40, 4: 60, 8: 120 },
};

function timelyOf(tasks: readonly InferlineTaskSketch[], batches: readonly number[]) {
  const stages = batches.map((batch) => [batch, 1] as const);
  const bundle = inferlineBundle({ sloMs: 150, tasks, levels: [{ loadQps: 10, stages }] });
  const [level] = bundle.levels;
  if (level === undefined) throw new RangeError("a bundle has a level");
  return timelyBatches(bundle, level);
}

describe("batches that leave time for the way", () => {
  test("are those of the plan where every way keeps the SLO with them", () => {
    const { batches, restMs, waitMs, throughputQps } = timelyOf([A, B], [1, 4]);
    expect(batches).toEqual([1, 4]);
    expect(restMs).toEqual([100, 60]);
    expect(waitMs).toBe(50);
    expect(throughputQps).toEqual([25, 4000 / 60]);
  });

  test("are smaller where a way is too long, until two fifths of the SLO are left", () => {
    // 160 ms with 8, 100 with 4, and 80 with 2; 5 to 7 take as long as 8.
    const { batches, restMs, throughputQps } = timelyOf([A, B], [1, 8]);
    expect(batches).toEqual([1, 2]);
    expect(restMs).toEqual([80, 40]);
    expect(throughputQps[1]).toBe(50);
  });

  test("stay on other ways, and are of one where nothing smaller is left", () => {
    const slow = { name: "slow", from: { a: 1 }, latencyMs: { 1: 100, 2: 200 } };
    const { batches } = timelyOf([A, B, slow], [1, 4, 2]);
    expect(batches).toEqual([1, 4, 1]);
  });
});
