import { expect, test } from "vitest";
import { StageLevelFollower } from "../../../../runtime/core/stages/stage-level-follower.ts";

const PEAK_QPS = Float64Array.of(100, 200, 400);

/** Looks every second. @returns when the level changed first, and to what. */
function firstChange(
  follower: StageLevelFollower,
  peakQps: (second: number) => number,
): [number, number] | null {
  for (let second = 0; second < 200; second++) {
    if (follower.update(peakQps(second), 1000 * second)) return [second, follower.level];
  }
  return null;
}

test("a plan for more traffic takes over once it was wanted for 15 s", () => {
  expect(firstChange(new StageLevelFollower(PEAK_QPS, 0), (s) => (s < 5 ? 100 : 101))).toEqual([
    20, 1,
  ]);
});

test("a plan for less traffic takes over once it was wanted for 60 s", () => {
  expect(firstChange(new StageLevelFollower(PEAK_QPS, 2), (s) => (s < 5 ? 201 : 90))).toEqual([
    65, 0,
  ]);
});

test("a break starts the time anew", () => {
  const swinging = (s: number) => (s % 15 === 14 ? 150 : 250);
  expect(firstChange(new StageLevelFollower(PEAK_QPS, 1), swinging)).toBeNull();
  const other = (s: number) => (s % 60 === 59 ? 150 : 50);
  expect(firstChange(new StageLevelFollower(PEAK_QPS, 1), other)).toBeNull();
});

test("beyond the highest sample the highest plan is followed, and nothing while the peak is unknown", () => {
  expect(firstChange(new StageLevelFollower(PEAK_QPS, 0), () => 5000)).toEqual([15, 2]);
  expect(firstChange(new StageLevelFollower(PEAK_QPS, 2), () => 5000)).toBeNull();
  expect(firstChange(new StageLevelFollower(PEAK_QPS, 1), () => Number.NaN)).toBeNull();
});
