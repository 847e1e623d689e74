import { expect, test } from "vitest";
import { RATIO_GRID, RatioTracker } from "../../../runtime/core/ratio-tracker.ts";
import { Rng } from "../../../runtime/core/rng.ts";

const RULES = { holdMs: 500, stepMs: 100, beatMs: 1000 };

function tracked(ratios: readonly number[], variance = 0.0001, gapMs = 5): RatioTracker {
  const tracker = new RatioTracker(1, RULES);
  ratios.forEach((ratio, run) => void tracker.add(0, 4 * ratio, 4, variance, run * gapMs));
  return tracker;
}

test("two equally slow runs raise the value, and one does not", () => {
  expect(tracked([1, 1, 1, 1.5]).valueOf(0)).toBe(1);
  expect(tracked([1.5, 1.5]).valueOf(0)).toBe(1.5);
});

test("a change of all runs from 1 to 2 is seen within eight runs", () => {
  const tracker = tracked([...new Array(100).fill(1), ...new Array(8).fill(2)]);
  expect(tracker.valueOf(0)).toBeGreaterThanOrEqual(1.75);
});

test("a single stall of 25 times a run's length changes nothing", () => {
  const ratios = new Array<number>(100).fill(1);
  ratios[50] = 25;
  const tracker = new RatioTracker(1, RULES);
  for (const [run, ratio] of ratios.entries()) {
    tracker.add(0, 4 * ratio, 4, 0.01, run * 5);
    expect(tracker.valueOf(0)).toBe(1);
  }
});

test("stalls that take half of the time are seen as half the speed within 1.6 beats", () => {
  // 25 runs of 2 ms, of which one is stopped for 50 ms: a quota of half a processor.
  const tracker = new RatioTracker(1, RULES);
  let nowMs = 0;
  for (let period = 0; period < 15; period++) {
    for (let run = 0; run < 25; run++) {
      const ranMs = run === 24 ? 52 : 2;
      nowMs += ranMs;
      tracker.add(0, ranMs, 2, 0.01, nowMs);
    }
  }
  expect(nowMs).toBeLessThan(1600);
  expect(tracker.valueOf(0)).toBeGreaterThanOrEqual(1.5);
});

test("noise as profiled changes the value in at most one of 500 runs", () => {
  const rng = new Rng(1, 1);
  const tracker = new RatioTracker(1, RULES);
  let elsewhere = 0;
  for (let run = 0; run < 20_000; run++) {
    // Uniform from 0.4 to 1.6: variance 0.12.
    tracker.add(0, 4 * (0.4 + 1.2 * rng.nextFloat()), 4, 0.12, run * 5);
    if (tracker.valueOf(0) !== 1) elsewhere++;
  }
  expect(elsewhere).toBeLessThanOrEqual(40);
});

test("the value falls one step at a time, and not before the hold is over", () => {
  const tracker = tracked([2, 2]);
  const seen: number[] = [];
  for (let run = 0; run < 400; run++) {
    tracker.add(0, 4, 4, 0.0001, 10 + run * 5);
    if (seen.at(-1) !== tracker.valueOf(0)) seen.push(tracker.valueOf(0));
    if (run * 5 < 490) expect(tracker.valueOf(0)).toBe(2);
  }
  expect(seen).toEqual([2, 1.75, 1.5, 1.37, 1.25, 1.15, 1]);
});

test("values lie on the grid", () => {
  expect([...RATIO_GRID]).toEqual([...RATIO_GRID].sort((a, b) => a - b));
  for (const ratio of [0.7, 1.07, 1.3, 3.2, 20]) {
    expect([...RATIO_GRID]).toContain(tracked(new Array(200).fill(ratio)).valueOf(0));
  }
});
