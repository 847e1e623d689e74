import { expect, test } from "vitest";
import {
  nextPollMs,
  nextRetryMs,
  refusedAgainMs,
} from "../../../../runtime/features/sources/pace.ts";

const pace = (draw: number, pollMs = 60_000) => ({ pollMs, random: () => draw });

test("poll intervals vary by 10 %", () => {
  expect(nextPollMs(pace(0))).toBe(54_000);
  expect(nextPollMs(pace(0.999_999))).toBeCloseTo(66_000, 0);
});

test("an unreachable source is retried with backoff up to the poll interval", () => {
  const waits = [1, 2, 3, 4, 5, 6, 7, 8, 1000].map((tries) => nextRetryMs(tries, null, pace(1)));
  expect(waits).toEqual([1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000, 60_000]);
  expect(nextRetryMs(3, null, pace(0))).toBe(2000);
  expect(nextRetryMs(20, null, pace(1, 86_400_000))).toBe(300_000);
});

test("the wait that a source requests is respected, up to an hour", () => {
  expect(nextRetryMs(1, 20_000, pace(0))).toBe(20_000);
  expect(nextRetryMs(7, 5, pace(1))).toBe(60_000);
  expect(nextRetryMs(1, 1e9, pace(0))).toBe(3_600_000);
});

test("a rejected bundle is tried again with backoff, up to an hour", () => {
  expect([1, 2, 3, 50].map((tries) => refusedAgainMs(tries, pace(0)))).toEqual([
    60_000, 120_000, 240_000, 3_600_000,
  ]);
});
