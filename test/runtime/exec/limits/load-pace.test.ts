import { expect, test } from "vitest";
import { LoadPace, OpenLimit } from "../../../../runtime/exec/limits/load-pace.ts";
import { WORKER_LIMITS } from "../../../../runtime/exec/limits/worker-limits.ts";

const STEP_MS = 60_000;

test("a GPU worker that warms dozens of sizes gets ready, however long all of them take", () => {
  const limit = new OpenLimit(0, new LoadPace(WORKER_LIMITS).limitMs(), true);
  // 64 sizes of 18 s are 19 minutes, of which the whole has 10.
  let nowMs = 0;
  for (let size = 1; size <= 64; size++, nowMs += 18_000) {
    expect(limit.leftMs(nowMs)).toBeGreaterThan(18_000);
    limit.onStep(nowMs, STEP_MS);
  }
  expect(nowMs).toBeGreaterThan(WORKER_LIMITS.startTimeoutMs);
});

test("one that does not go on is late, and its step is late first", () => {
  const pace = new LoadPace(WORKER_LIMITS);
  pace.onDone(500);
  const limit = new OpenLimit(0, pace.limitMs(), true);
  expect(limit.limitMs).toBe(WORKER_LIMITS.startFloorMs);
  limit.onStep(2000, STEP_MS);
  expect(limit.leftMs(2000)).toBeGreaterThan(STEP_MS);
  expect(limit.leftMs(2000 + 2 * STEP_MS)).toBe(0);
});

test("on processors steps give no time", () => {
  const limit = new OpenLimit(1000, 10_000, false);
  limit.onStep(9000, STEP_MS);
  expect([limit.limitMs, limit.leftMs(9000), limit.leftMs(12_000)]).toEqual([10_000, 2000, 0]);
});
