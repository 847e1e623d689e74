import { expect, test } from "vitest";
import { chosenEdge } from "../../../../runtime/core/graph/exclusive-edges.ts";

const SHARES = Float64Array.of(0, 0.25, 0.5);

test("an edge is chosen in its share, and none beyond them all", () => {
  const choose = (coin: number) => chosenEdge([1, 2], SHARES, coin, false);
  expect([0, 0.2, 0.25, 0.7, 0.75, 0.9].map(choose)).toEqual([0, 0, 1, 1, -1, -1]);
});

test("rounding opens no way besides where one is always taken", () => {
  const shares = Float64Array.of(0.1, 0.2, 0.7);
  // As near to 1 as a coin comes; what is left of it is nothing, not less.
  const coin = 1 - 2 ** -53;
  expect(chosenEdge([0, 1, 2], shares, coin, false)).toBe(-1);
  expect(chosenEdge([0, 1, 2], shares, coin, true)).toBe(2);
});
