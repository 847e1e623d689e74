import { describe, expect, test } from "vitest";
import { DemandMonitor } from "../../../../../runtime/core/graph/demand-monitor.ts";
import { Rng } from "../../../../../runtime/core/rng.ts";
import { LevelFollower } from "../../../../../runtime/methods/loki/core/level-follower.ts";

const CARRIED_QPS = Float64Array.of(100, 200, 400);
const NOISE_QPS = 5;
const BEAT_MS = 1000;

test("follows the highest level until the demand is known, then the lowest", () => {
  const follower = new LevelFollower([100, 200, 400], BEAT_MS);
  expect(follower.update(CARRIED_QPS, Number.NaN, Number.NaN, 0)).toBe(false);
  expect(follower.level).toBe(2);
  expect(follower.update(CARRIED_QPS, 100, NOISE_QPS, 1000)).toBe(true);
  expect(follower.level).toBe(0);
});

test("a level is left upwards at once, but not for noise", () => {
  const follower = new LevelFollower([100, 200, 400], BEAT_MS);
  follower.update(CARRIED_QPS, 90, NOISE_QPS, 0);
  // Three and a half deviations of 100 requests, in a window of as many as of 115, are 16.3.
  expect(follower.update(CARRIED_QPS, 115, NOISE_QPS, 1000)).toBe(false);
  expect(follower.update(CARRIED_QPS, 118, NOISE_QPS, 2000)).toBe(true);
  expect(follower.level).toBe(1);
  follower.update(CARRIED_QPS, 5000, NOISE_QPS, 3000);
  expect(follower.level).toBe(2);
});

test("what is a little too much for long is no noise", () => {
  const follower = new LevelFollower([100, 200, 400], BEAT_MS);
  follower.update(CARRIED_QPS, 100, NOISE_QPS, 0);
  let beats = 0;
  while (beats < 200 && follower.level === 0) {
    beats++;
    follower.update(CARRIED_QPS, 108, NOISE_QPS, beats * BEAT_MS);
  }
  // Eight deviations, 167 requests, at 8 a second less half a deviation, 2.4.
  expect(beats).toBe(30);
});

test("goes down ten beats after a change at the earliest, and with a deviation to spare", () => {
  const follower = new LevelFollower([100, 200, 400], BEAT_MS);
  follower.update(CARRIED_QPS, 150, NOISE_QPS, 0);
  expect(follower.level).toBe(1);
  expect(follower.update(CARRIED_QPS, 50, NOISE_QPS, 10 * BEAT_MS - 1)).toBe(false);
  expect(follower.update(CARRIED_QPS, 96, NOISE_QPS, 10 * BEAT_MS)).toBe(false);
  expect(follower.update(CARRIED_QPS, 94, NOISE_QPS, 11 * BEAT_MS)).toBe(true);
  expect(follower.level).toBe(0);
});

test("where servers are lost, a level that needs fewer may carry more than one above it", () => {
  const follower = new LevelFollower([100, 200, 400], BEAT_MS);
  follower.update(CARRIED_QPS, 90, NOISE_QPS, 0);
  follower.update(Float64Array.of(50, 80, 60), 120, NOISE_QPS, 1000);
  expect(follower.level).toBe(1);
});

test("levels are ranked by what they are meant to carry, not by their index", () => {
  const follower = new LevelFollower([100, 400, 200], BEAT_MS);
  const carriedQps = Float64Array.of(100, 400, 200);
  follower.update(carriedQps, 150, NOISE_QPS, 0);
  expect(follower.level).toBe(2);
  follower.update(carriedQps, 300, NOISE_QPS, 1000);
  expect(follower.level).toBe(1);
});

describe("Poisson arrivals", () => {
  /** Levels 20 % apart, of which the third has the load of 1 as its own. */
  const STEPS = [-2, -1, 0, 1, 2].map((step) => 1.2 ** step);
  const OWN = 2;
  const SEEDS = [1, 2, 3, 4, 5];

  /** The level that is followed at the end of each beat, of which each has so many in the mean. */
  function* followed(perBeat: number, seed: number, beats: number, load = (_beat: number) => 1) {
    const carriedQps = Float64Array.from(STEPS, (step) => (1000 * perBeat * step) / BEAT_MS);
    const follower = new LevelFollower([...carriedQps], BEAT_MS);
    const demand = new DemandMonitor(Number.NaN, BEAT_MS);
    const rng = new Rng(seed, 1);
    let nextMs = 0;
    for (let beat = 0; beat < beats; beat++) {
      const endMs = (beat + 1) * BEAT_MS;
      const gapMs = BEAT_MS / (perBeat * load(beat));
      for (; nextMs < endMs; nextMs += gapMs * -Math.log(1 - rng.nextFloat())) {
        demand.recordRequest(nextMs);
      }
      demand.advance(endMs);
      follower.update(carriedQps, demand.qps, demand.noiseQps, endMs);
      yield follower.level;
    }
  }

  function keepsIts(perBeat: number, part: number): void {
    const beats = 20_000;
    for (const seed of SEEDS.slice(0, perBeat < 300 ? 5 : 3)) {
      let own = 0;
      for (const level of followed(perBeat, seed, beats)) if (level === OWN) own++;
      expect(own).toBeGreaterThanOrEqual(part * beats);
    }
  }

  test.each([
    [3, 0.95],
    [30, 0.98],
    [100, 0.99],
    [300, 0.99],
  ])("at a level's load keep it, %d a beat", keepsIts);

  test("15 % above a level's load are followed within ten beats, a thousand a beat", () => {
    for (let seed = 1; seed <= 20; seed++) {
      const levels = [...followed(1000, seed, 60, (beat) => (beat < 50 ? 1 : 1.15))];
      expect(levels[49]).toBe(OWN);
      const at = levels.findIndex((level, beat) => beat >= 50 && level > OWN);
      expect(levels[at]).toBe(OWN + 1);
      expect(at - 50).toBeLessThan(10);
    }
  });
});
