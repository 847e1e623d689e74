import { expect, test } from "vitest";
import { nextMeasuredTimes } from "../../../compiler/model/next-measured-times.ts";

test("a batch between two measured sizes takes as long as the next larger one", () => {
  const rows = [
    { batch: 2, ms: 5 },
    { batch: 4, ms: 8 },
    { batch: 7, ms: 9 },
  ];
  expect([...nextMeasuredTimes(rows)]).toEqual([5, 5, 8, 8, 9, 9, 9]);
});

test("a larger batch that was measured faster is not taken to be faster", () => {
  const rows = [
    { batch: 1, ms: 6 },
    { batch: 2, ms: 5 },
    { batch: 3, ms: 7 },
  ];
  expect([...nextMeasuredTimes(rows)]).toEqual([6, 6, 7]);
});
