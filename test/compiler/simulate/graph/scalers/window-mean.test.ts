import { expect, test } from "vitest";
import { WindowMean } from "../../../../../compiler/simulate/graph/scalers/window-mean.ts";

test("a window ends at the last sample, and is cut to the known history", () => {
  const mean = new WindowMean(3);
  expect(mean.over(1000)).toBe(0);
  mean.push(1000, 2000);
  expect(mean.over(1000)).toBe(2);
  expect(mean.over(9000)).toBe(2);
  mean.push(2000, 6000);
  expect(mean.over(1000)).toBe(4);
  expect(mean.over(1500)).toBe(3);
  expect(mean.over(2000)).toBe(3);
  mean.push(3000, 6000);
  mean.push(4000, 6000);
  // The first look is forgotten.
  expect(mean.over(9000)).toBe(4000 / 3000);
});
