import { expect, test } from "vitest";
import { retryDelayMs, WORKER_LIMITS } from "../../../../runtime/exec/limits/worker-limits.ts";

test("the wait doubles with each failure, up to the longest", () => {
  const limits = { ...WORKER_LIMITS, backoffMs: 3, maxBackoffMs: 20 };
  const failures = [1, 2, 3, 4, 5, 5000];
  expect(failures.map((count) => retryDelayMs(count, limits))).toEqual([3, 6, 12, 20, 20, 20]);
});
