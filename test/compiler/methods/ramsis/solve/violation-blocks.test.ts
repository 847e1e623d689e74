import { expect, it } from "vitest";
import { ViolationBlocks } from "../../../../../compiler/methods/ramsis/solve/violation-blocks.ts";

/** Of so many violations, one every `everyMs` from 0. */
function counted(violations: number, everyMs: number): ViolationBlocks {
  const blocks = new ViolationBlocks(1000);
  for (let index = 0; index < violations; index++) blocks.count(index * everyMs);
  return blocks;
}

it("states three queries where none was seen", () => {
  expect(counted(0, 1).upperRate(100_000)).toBe(3 / 100_000);
});

it("adds three standard errors where violations are spread evenly", () => {
  expect(counted(100, 10).upperRate(100_000)).toBeCloseTo((100 + 30 + 3) / 100_000, 12);
});

it("adds more where they come in one cluster", () => {
  // All in one of 20 blocks: a variance of (95² + 19 · 5²) / 19 over a mean of 5 is 100.
  const error = Math.sqrt(100 * 100);
  expect(counted(100, 0.1).upperRate(100_000)).toBeCloseTo((100 + 3 * error + 3) / 100_000, 12);
});

it("is a rate: of few queries at most 1, and of none as well", () => {
  expect(counted(10, 1).upperRate(12)).toBe(1);
  expect(counted(0, 1).upperRate(0)).toBe(1);
});

it("counts the last instant in the last block", () => {
  const blocks = new ViolationBlocks(3);
  blocks.count(3 - Number.EPSILON);
  expect(blocks.upperRate(1000)).toBeCloseTo(7 / 1000, 12);
});
