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
    const waitsMs = [trust.onOut(0, 3, true)];
    for (let round = 0; round < 8; round++) {
      const nowMs = 10_000 * (round + 1);
      expect(trust.onFault(0, nowMs)).toBe(true);
      waitsMs.push(trust.onOut(0, nowMs, true));
    }
    expect(waitsMs).toEqual([0, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000]);
  });

  test("is trusted again once it has run a batch, and after a minute", () => {
    const trust = new WorkerTrust(1);
    expect(trust.onOut(0, 0, false)).toBe(0);
    expect(trust.onOut(0, 1, false)).toBe(1000);
    trust.onAnswered(0);
    expect(trust.onFault(0, 2)).toBe(false);
    expect(trust.onOut(0, 3, false)).toBe(0);
    expect(trust.onOut(0, 4, false)).toBe(0);
    expect(trust.onOut(0, 5, false)).toBe(1000);
    expect(trust.onOut(0, 60_005, false)).toBe(0);
  });

  test("that is lost under each of its batches waits as well", () => {
    const trust = new WorkerTrust(1);
    expect([0, 1, 2, 3].map((nowMs) => trust.onOut(0, nowMs, false))).toEqual([
      0, 1000, 2000, 4000,
    ]);
  });
});

test("a worker is tried after three failures, then after twice as many each time", () => {
  const trust = new WorkerTrust(1);
  const trials: number[] = [];
  for (let failure = 1; failure <= 30; failure++) {
    trust.onFailed(0);
    if (trust.isOnTrial(0)) trials.push(failure);
  }
  expect(trials).toEqual([3, 6, 12, 24]);
  trust.onOut(0, 0, false);
  trust.onFailed(0);
  expect(trust.isOnTrial(0)).toBe(true);
  trust.onAnswered(0);
  trust.onFailed(0);
  expect([trust.isOnTrial(0), trust.failuresOf(0)]).toEqual([false, 1]);
});
