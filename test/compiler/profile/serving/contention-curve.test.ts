import { expect, test } from "vitest";
import {
  contentionCurve,
  heldCurve,
} from "../../../../compiler/profile/serving/contention-curve.ts";

test("a curve is what runs take beside others, as medians over rounds and variants", () => {
  const rounds = [
    [10, 12, 20],
    [10, 14, 20],
    [20, 26, 44],
  ];
  expect(contentionCurve([rounds])).toEqual([1, 1.3, 2]);
});

test("a curve of workers with processors of their own goes on as it ends", () => {
  expect(heldCurve([1, 1.3], 4)).toEqual([1, 1.3, 1.3, 1.3]);
  expect(heldCurve([1, 1.3, 2], 2)).toEqual([1, 1.3, 2]);
  expect(heldCurve([1], 1)).toEqual([1]);
});
