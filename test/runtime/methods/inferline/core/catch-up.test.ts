import { describe, expect, test } from "vitest";
import { CatchUp } from "../../../../../runtime/methods/inferline/core/catch-up.ts";
import { inferlineBundle } from "../../../../support/inferline-bundle.ts";

/** A replica of each carries 100 per second; up in 5 s. At an SLO of 100 ms a beat is a second. */
const BUNDLE = inferlineBundle({
  sloMs: 100,
  workers: [100],
  tasks: [
    { name: "a", latencyMs: { 1: 10 } },
    { name: "b", from: { a: 1 }, latencyMs: { 1: 10 } },
  ],
  levels: [
    {
      loadQps: 150,
      stages: [
        [1, 2],
        [1, 2],
      ],
    },
  ],
});
const STAGES = BUNDLE.levels[0]?.plan.stages ?? [];
const FACTORS = Float64Array.of(1, 1);

interface Seen {
  readonly ms: number;
  readonly qps: number;
  readonly sureQps?: number;
  readonly waiting?: readonly [number, number];
  readonly ready?: readonly [number, number];
  readonly targets?: readonly [number, number];
}

function look(catchUp: CatchUp, seen: Seen): number[] {
  const { ms, qps, sureQps = qps, waiting = [0, 0], ready = [2, 2], targets = ready } = seen;
  const state = {
    waiting: (task: number) => waiting[task] ?? 0,
    readyByTask: Uint32Array.from(ready),
  };
  catchUp.look(
    { nowMs: ms, sureQps, likelyQps: qps, factors: FACTORS },
    STAGES,
    Uint32Array.from(targets),
    state,
  );
  return [...catchUp.replicas];
}

describe("what has come to wait", () => {
  test("is nothing while what is ready carries the traffic, whatever a burst makes wait", () => {
    const catchUp = new CatchUp(BUNDLE);
    expect(look(catchUp, { ms: 0, qps: 150 })).toEqual([0, 0]);
    // 60 of which 200 are served in a second are gone long before a replica is up.
    expect(look(catchUp, { ms: 1000, qps: 150, waiting: [60, 0] })).toEqual([0, 0]);
    expect(look(catchUp, { ms: 2000, qps: 200, sureQps: 180 })).toEqual([0, 0]);
  });

  test("is known for when replicas are up, and served in a quarter of that time", () => {
    const catchUp = new CatchUp(BUNDLE);
    // 200 too many a second for 5 s, and 400 as they come: 1000 in 1.25 s besides.
    expect(look(catchUp, { ms: 0, qps: 400 })).toEqual([12, 12]);
    expect(catchUp.isOn).toBe(true);
    expect(catchUp.dueMs).toBe(1000);
    // A better guess within the first beat asks for more, ...
    const later = { ms: 1000, qps: 500, waiting: [200, 0], targets: [12, 12] } as const;
    expect(look(catchUp, later)).toEqual([17, 17]);
    // ... and afterwards what is asked for stays, until nothing waits any more.
    expect(look(catchUp, { ...later, ms: 4000, qps: 600, targets: [17, 17] })).toEqual([17, 17]);
    const up = { ms: 6000, qps: 400, ready: [17, 17] } as const;
    expect(look(catchUp, { ...up, waiting: [900, 0] })).toEqual([17, 17]);
    expect(look(catchUp, { ...up, ms: 7000, waiting: [0, 10] })).toEqual([0, 0]);
    expect(catchUp.isOn).toBe(false);
    expect(catchUp.dueMs).toBe(Number.POSITIVE_INFINITY);
  });

  test("is dropped at once where the jump was none", () => {
    const catchUp = new CatchUp(BUNDLE);
    expect(look(catchUp, { ms: 0, qps: 400 })).toEqual([12, 12]);
    expect(look(catchUp, { ms: 500, qps: 120, targets: [12, 12] })).toEqual([0, 0]);
  });

  test("is served by the tasks that follow as well, though it waits before the first", () => {
    const catchUp = new CatchUp(BUNDLE);
    const behind = { ms: 0, qps: 150, waiting: [2000, 0] } as const;
    // 2000 in 1.25 s, and 150 as they come.
    expect(look(catchUp, behind)).toEqual([18, 18]);
    const second = new CatchUp(BUNDLE);
    expect(look(second, { ...behind, waiting: [0, 2000] })).toEqual([0, 18]);
  });

  test("is caught up with in another wave where the first was not enough", () => {
    const catchUp = new CatchUp(BUNDLE);
    expect(look(catchUp, { ms: 0, qps: 400 })).toEqual([12, 12]);
    const worse = { qps: 2000, waiting: [4000, 0], ready: [12, 12] } as const;
    expect(look(catchUp, { ...worse, ms: 4000 })).toEqual([12, 12]);
    // 800 too many a second for 5 s, and 4000 that wait, in 1.25 s.
    expect(look(catchUp, { ...worse, ms: 5000 })).toEqual([84, 84]);
  });
});
