/** What a host takes of processors, look by look. */
import { expect, test } from "vitest";
import { stealTicks } from "../../../../compiler/profile/serving/machine-time.ts";
import { StallCount } from "../../../../compiler/profile/serving/stall-watch.ts";

test("what goes on from one look to the next is one stall, of each processor by itself", () => {
  const count = new StallCount();
  const looks = [
    [5, 0],
    [6, 0],
    [8, 2],
    [8, 2],
    [8, 3],
  ];
  for (const [index, ticks] of looks.entries()) count.look(ticks, 500 * index);
  // 30, 20 and 10 ms in two seconds of two processors.
  const seen = count.seen();
  expect(seen?.perSecond).toBe(0.75);
  expect(seen?.ms.mean).toBe(20);
  expect(seen?.ms.p50).toBe(20);
});

test("a machine from which nothing is taken has no stalls", () => {
  const count = new StallCount();
  expect(count.seen()).toBeNull();
  for (const nowMs of [0, 10, 20]) count.look([7, 7], nowMs);
  expect(count.seen()).toBeNull();
});

test("the eighth number of each processor's line is what was taken", () => {
  const stat =
    "cpu  1 0 2 3 0 0 0 9 0 0\ncpu0 1 0 1 1 0 0 0 4 0 0\ncpu1 0 0 1 2 0 0 0 5 0 0\nintr 7\n";
  expect(stealTicks(stat)).toEqual([4, 5]);
  expect(stealTicks("")).toBeNull();
});
