import { expect, test } from "vitest";
import { LatePause } from "../../../../../runtime/methods/ramsis/core/late-pause.ts";

test("the first late batch starts at once, and the next after five hundred times", () => {
  const pause = new LatePause();
  expect(pause.endMs(1, 8, 100)).toBe(100);
  pause.begin(40, 8, 100);
  expect(pause.endMs(1, 8, 100)).toBe(100 + (40 * 500) / 8);
  expect(pause.endMs(4, 8, 500)).toBe(2600);
  expect(pause.endMs(4, 8, 2700)).toBe(2700);
});

test("nobody who is late waits while more than half of the workers are idle", () => {
  const pause = new LatePause();
  pause.begin(40, 8, 100);
  expect(pause.endMs(5, 8, 100)).toBe(100);
  pause.begin(40, 1, 100);
  expect(pause.endMs(1, 1, 101)).toBe(101);
});
