/** Which workers are taken out, and for how long. */
import { describe, expect, test } from "vitest";
import { WorkerTrust } from "../../../runtime/core/worker-trust.ts";

describe("a worker that fails what others run", () => {
  test("is taken out at its third fault in a row", () => {
    const trust = new WorkerTrust(2);
    expect(trust.onFault(0, 0)).toBe(false);
    expect(trust.onFault(0, 1)).toBe(false);
    trust.onAnswered(0);
    expect(trust.onFault(0, 2)).toBe(false);
    trust.onAnswered(1);
    expect(trust.onFault(0, 3)).toBe(false);
    expect(trust.onFault(0, 4)).toBe(true);
  });

  test("is on trial after it was taken out, and waits twice as long each time", () => {
    const trust = new WorkerTrust(2);
    trust.onAnswered(0);
    for (let fault = 0; fault < 3; fault++) trust.onFault(0, fault);
    const waitsMs = [trust.onOut(0, 3)];
    for (let round = 0; round < 8; round++) {
      const nowMs = 10_000 * (round + 1);
      expect(trust.onFault(0, nowMs)).toBe(true);
      waitsMs.push(trust.onOut(0, nowMs));
    }
    expect(waitsMs).toEqual([0, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000]);
  });

  test("is trusted again once it has run a batch, and after a minute", () => {
    const trust = new WorkerTrust(1);
    expect(trust.onOut(0, 0)).toBe(0);
    expect(trust.onOut(0, 1)).toBe(1000);
    trust.onAnswered(0);
    expect(trust.onFault(0, 2)).toBe(false);
    expect(trust.onOut(0, 3)).toBe(0);
    expect(trust.onOut(0, 4)).toBe(0);
    expect(trust.onOut(0, 5)).toBe(1000);
    expect(trust.onOut(0, 60_005)).toBe(0);
  });

  test("that is lost under each of its batches waits as well", () => {
    const trust = new WorkerTrust(1);
    expect([0, 1, 2, 3].map((nowMs) => trust.onOut(0, nowMs))).toEqual([0, 1000, 2000, 4000]);
  });
});

describe("batches that fail on every worker", () => {
  test("let one worker be restarted after the eighth, then at growing intervals", () => {
    const trust = new WorkerTrust(2);
    const restartsMs: number[] = [];
    for (let nowMs = 0; nowMs < 20_000; nowMs += 100) {
      if (trust.onFailedAlike(nowMs)) restartsMs.push(nowMs);
    }
    expect(restartsMs).toEqual([700, 1700, 3700, 7700, 15_700]);
    expect(trust.isWidespread).toBe(true);
  });

  test("count from the last batch that any worker ran", () => {
    const trust = new WorkerTrust(2);
    for (let batch = 0; batch < 100; batch++) {
      if (batch % 7 === 6) trust.onAnswered(1);
      expect(trust.onFailedAlike(batch)).toBe(false);
    }
    expect(trust.isWidespread).toBe(false);
  });
});
