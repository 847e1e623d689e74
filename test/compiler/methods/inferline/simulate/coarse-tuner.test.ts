import { describe, expect, it } from "vitest";
import { CoarseTuner } from "../../../../../compiler/methods/inferline/simulate/coarse-tuner.ts";
import { inferlineBundle } from "../../../../support/inferline-bundle.ts";

/**
 * A unit carries 100 per second: a replica of the first stage, and one of the second, which could
 * carry 1000.
 */
const bundle = inferlineBundle({
  sloMs: 100,
  workers: [20],
  tasks: [
    { name: "slow", latencyMs: { 1: 10 } },
    { name: "fast", from: { slow: 1 }, latencyMs: { 1: 1 } },
  ],
  levels: [
    {
      loadQps: 200,
      stages: [
        [1, 2],
        [1, 2],
      ],
    },
    {
      loadQps: 400,
      stages: [
        [1, 4],
        [1, 1],
      ],
    },
  ],
});

/** Requests at a rate from a time to another. @returns when targets changed, and to what. */
function drive(tuner: CoarseTuner, qps: number, fromMs: number, toMs: number) {
  const changes: [number, ...number[]][] = [];
  const note = (ms: number, isChanged: boolean) => {
    if (isChanged) changes.push([ms, ...tuner.targets]);
  };
  const count = Math.round((qps * (toMs - fromMs)) / 1000);
  for (let index = 0; index < count; index++) {
    const ms = fromMs + (index * 1000) / qps;
    while (tuner.wakeMs <= ms) {
      const wakeMs = tuner.wakeMs;
      note(wakeMs, tuner.tick(wakeMs));
    }
    note(ms, tuner.onArrival(ms));
  }
  return changes;
}

describe("CoarseTuner", () => {
  it("adds whole units when a window of 5 s had more than all units carry, and not before", () => {
    const tuner = new CoarseTuner(bundle, 0);
    expect(drive(tuner, 200, 0, 20_000)).toEqual([]);
    expect(drive(tuner, 450, 20_000, 30_000)).toEqual([[25_000, 5, 5]]);
  });

  it("lets units go only when nothing has needed them for 120 s", () => {
    const tuner = new CoarseTuner(bundle, 0);
    drive(tuner, 450, 0, 10_000);
    // The last window that needed five ends at 10 s.
    expect(drive(tuner, 50, 10_000, 140_000)).toEqual([[130_000, 1, 1]]);
  });

  it("keeps what is planned for the first 120 s", () => {
    const tuner = new CoarseTuner(bundle, 0);
    expect(drive(tuner, 10, 0, 130_000)).toEqual([[120_000, 1, 1]]);
  });

  it("adds a replica of every task to a plan that is no multiple of a unit", () => {
    const tuner = new CoarseTuner(bundle, 1);
    expect(drive(tuner, 450, 0, 10_000)).toEqual([[5000, 5, 2]]);
    expect(drive(tuner, 50, 10_000, 140_000)).toEqual([[130_000, 1, 1]]);
  });

  it("asks for no more than the pool has, and starts again from a plan it follows", () => {
    const tuner = new CoarseTuner(bundle, 0);
    drive(tuner, 3000, 0, 6000);
    expect([...tuner.targets]).toEqual([20, 20]);
    tuner.follow(1, 6000);
    expect([...tuner.targets]).toEqual([4, 1]);
  });
});
