/** What a host takes of processors, look by look. */
import { expect, test } from "vitest";
import { processorCounts } from "../../../../compiler/profile/serving/machine-time.ts";
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
  // Each processor works for half of each second.
  for (const [index, steals] of looks.entries()) {
    count.look(steals.map((steal) => ({ steal, busy: 50 * index })));
  }
  // 30, 20 and 10 ms in two seconds of work on each of two processors.
  const seen = count.seen(null);
  expect(seen?.perSecond).toBe(0.75);
  expect(seen?.ms.mean).toBe(20);
  expect(seen?.ms.p50).toBe(20);
  // The same time in pieces of 2 ms: ten times as many.
  const form = { p50: 1, p95: 6, p99: 10, mean: 2 };
  expect(count.seen(form)).toEqual({ perSecond: 7.5, ms: form });
});

test("a machine from which nothing is taken has no stalls", () => {
  const count = new StallCount();
  expect(count.seen(null)).toBeNull();
  for (const busy of [0, 1, 2]) count.look([{ steal: 7, busy }]);
  expect(count.seen(null)).toBeNull();
});

test("each processor's line says what it worked and what was taken", () => {
  const stat =
    "cpu  1 0 2 3 0 0 0 9 0 0\ncpu0 1 0 1 1 0 0 0 4 0 0\ncpu1 0 0 1 2 0 0 0 5 0 0\nintr 7\n";
  expect(processorCounts(stat)).toEqual([
    { busy: 2, steal: 4 },
    { busy: 1, steal: 5 },
  ]);
  expect(processorCounts("")).toBeNull();
});
