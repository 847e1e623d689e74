import { describe, expect, test } from "vitest";
import { BatchPace } from "../../../../runtime/exec/limits/batch-pace.ts";
import { LoadPace } from "../../../../runtime/exec/limits/load-pace.ts";
import { WORKER_LIMITS } from "../../../../runtime/exec/limits/worker-limits.ts";

const LIMITS = { ...WORKER_LIMITS, hungFactor: 4, hungFloorMs: 250, batchTimeoutMs: 30_000 };

function batch(p99Ms: number | undefined, variant = 0, isFirstOfKind = false) {
  return { variant, p99Ms, isFirstOfKind };
}

describe("a batch may take", () => {
  test("the larger of a floor and a few times its profiled p99", () => {
    const pace = new BatchPace(LIMITS);
    expect(pace.limitMs(batch(10), 0)).toBe(250);
    expect(pace.limitMs(batch(100), 0)).toBe(400);
    expect(pace.limitMs(batch(20_000), 0)).toBe(80_000);
  });

  test("what any batch may where its p99 is not known, and longer where kernels are made", () => {
    const pace = new BatchPace(LIMITS);
    expect(pace.limitMs(batch(undefined), 0)).toBe(30_000);
    expect(pace.limitMs(batch(10, 0, true), 0)).toBe(LIMITS.firstKernelsMs);
  });

  test("twice as long with every worker in a row that hung in its variant", () => {
    const pace = new BatchPace(LIMITS);
    pace.onHung(batch(10));
    expect([pace.limitMs(batch(10), 0), pace.limitMs(batch(10, 1), 0)]).toEqual([500, 250]);
    for (let times = 0; times < 20; times++) pace.onHung(batch(10));
    expect(pace.limitMs(batch(10), 0)).toBe(30_000);
    pace.onAnswered(batch(10), 8, 0);
    expect(pace.limitMs(batch(10), 0)).toBe(250);
  });

  test("twice what the slowest of late took, and that is forgotten", () => {
    const pace = new BatchPace(LIMITS);
    pace.onAnswered(batch(10), 100, 0);
    expect(pace.limitMs(batch(10), 0)).toBe(250);
    pace.onAnswered(batch(10), 200, 0);
    // Of the limit on a machine as profiled, whatever the batch is.
    expect(pace.limitMs(batch(10), 0)).toBe(400);
    expect(pace.limitMs(batch(100, 1), 0)).toBe(640);
    pace.onAnswered(batch(10), 20, 0);
    expect(pace.limitMs(batch(10), 0)).toBe(400);
    expect(pace.limitMs(batch(10), 60_000)).toBe(250);
  });

  test("so much that a machine far slower shoots a few healthy workers, and then none", () => {
    const pace = new BatchPace(LIMITS);
    const tookMs = 2000;
    let shot = 0;
    for (let nowMs = 0; nowMs < 600_000; nowMs += tookMs) {
      if (tookMs < pace.limitMs(batch(10), nowMs)) pace.onAnswered(batch(10), tookMs, nowMs);
      else {
        shot++;
        pace.onHung(batch(10));
      }
    }
    expect(shot).toBe(4);
  });
});

describe("a start may take", () => {
  test("long until one was seen, then a few times the longest", () => {
    const pace = new LoadPace({ ...LIMITS, startTimeoutMs: 600_000, startFactor: 8 });
    expect(pace.limitMs()).toBe(600_000);
    pace.onDone(300);
    expect(pace.limitMs()).toBe(LIMITS.startFloorMs);
    pace.onDone(5000);
    pace.onDone(2000);
    expect(pace.limitMs()).toBe(40_000);
    pace.onHung();
    pace.onHung();
    expect(pace.limitMs()).toBe(160_000);
    pace.onDone(1000);
    expect(pace.limitMs()).toBe(40_000);
  });
});
