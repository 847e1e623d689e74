import { expect, test } from "vitest";
import { Rng } from "../../../../../runtime/core/rng.ts";
import { InferlineLevelFollower } from "../../../../../runtime/methods/inferline/core/level-follower.ts";
import { RecentRates } from "../../../../../runtime/methods/inferline/core/recent-rates.ts";
import { inferlineBundle } from "../../../../support/inferline-bundle.ts";

/** At this SLO a beat is a second. */
const BUNDLE = inferlineBundle({
  sloMs: 100,
  tasks: [{ name: "a", latencyMs: { 1: 5 } }],
  levels: [100, 200, 400].map((loadQps) => ({ loadQps, stages: [[1, 1]] })),
});

/** Looks every beat. @returns when the level changed first, and to what. */
function firstChange(
  follower: InferlineLevelFollower,
  meanQps: (beat: number) => number,
): [number, number] | null {
  for (let beat = 0; beat < 200; beat++) {
    if (follower.update(meanQps(beat), 1000 * beat)) return [beat, follower.level];
  }
  return null;
}

/** Feeds Poisson traffic of a rate for 3600 beats. @returns changes of level. */
function changesUnder(qps: number, level: number, seed: number): number {
  const follower = new InferlineLevelFollower(BUNDLE, level);
  const rates = new RecentRates(1000);
  const rng = new Rng(seed, 1);
  let changes = 0;
  let beat = 0;
  for (let ms = 0; ms < 3_600_000; ms += (-1000 / qps) * Math.log(1 - rng.nextFloat())) {
    rates.recordRequest(ms);
    for (; beat * 1000 <= ms; beat++) {
      if (follower.update(rates.recentMeanQps, 1000 * beat)) changes++;
    }
  }
  return changes;
}

test("a plan for more traffic takes over once it was wanted for 15 beats", () => {
  const follower = new InferlineLevelFollower(BUNDLE, 0);
  expect(firstChange(follower, (beat) => (beat < 5 ? 100 : 106))).toEqual([20, 1]);
});

test("it is the plan for that traffic, however many are in between", () => {
  expect(firstChange(new InferlineLevelFollower(BUNDLE, 0), () => 390)).toEqual([15, 2]);
});

test("a level's own traffic is no reason to leave it", () => {
  for (let seed = 1; seed <= 5; seed++) expect(changesUnder(100, 0, seed)).toBe(0);
});

test("a plan for less traffic takes over once it was wanted for 60 beats", () => {
  const follower = new InferlineLevelFollower(BUNDLE, 2);
  expect(firstChange(follower, (beat) => (beat < 5 ? 201 : 90))).toEqual([65, 0]);
});

test("a break starts the time anew", () => {
  const swinging = (beat: number) => (beat % 15 === 14 ? 150 : 250);
  expect(firstChange(new InferlineLevelFollower(BUNDLE, 1), swinging)).toBeNull();
  const other = (beat: number) => (beat % 60 === 59 ? 150 : 50);
  expect(firstChange(new InferlineLevelFollower(BUNDLE, 1), other)).toBeNull();
});

test("follows the highest plan beyond the highest load, and none while unknown", () => {
  expect(firstChange(new InferlineLevelFollower(BUNDLE, 0), () => 5000)).toEqual([15, 2]);
  expect(firstChange(new InferlineLevelFollower(BUNDLE, 2), () => 5000)).toBeNull();
  expect(firstChange(new InferlineLevelFollower(BUNDLE, 1), () => Number.NaN)).toBeNull();
});
