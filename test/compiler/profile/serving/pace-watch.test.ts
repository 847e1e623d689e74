/** Looks at the pace of the machine, as long as somebody wants to know it. */
import { expect, test } from "vitest";
import { watchPace } from "../../../../compiler/profile/serving/pace-watch.ts";

test("a watch looks until it is ended", async () => {
  let nowMs = 0;
  let wake = () => {};
  const pace = watchPace(
    () => nowMs,
    () =>
      new Promise((resolve) => {
        wake = resolve;
      }),
  );
  for (; nowMs < 100; nowMs++) {
    wake();
    await Promise.resolve();
    await Promise.resolve();
  }
  const share = pace.slowShare(0, 99);
  expect(share).toBeGreaterThanOrEqual(0);
  expect(share).toBeLessThanOrEqual(1);
  pace.end();
  wake();
  await Promise.resolve();
  expect(pace.slowShare(100, 1e9)).toBeNull();
});
