import { expect, test } from "vitest";
import { LevelFollower } from "../../../../../runtime/methods/loki/core/level-follower.ts";

const CARRIED_QPS = Float64Array.of(100, 200, 400);
const NOISE_QPS = 5;

test("follows the highest level until the demand is known, then the lowest", () => {
  const follower = new LevelFollower([100, 200, 400], 1000);
  expect(follower.update(CARRIED_QPS, Number.NaN, Number.NaN, 0)).toBe(false);
  expect(follower.level).toBe(2);
  expect(follower.update(CARRIED_QPS, 100, NOISE_QPS, 1000)).toBe(true);
  expect(follower.level).toBe(0);
});

test("a level is left upwards at once, but not for noise", () => {
  const follower = new LevelFollower([100, 200, 400], 1000);
  follower.update(CARRIED_QPS, 90, NOISE_QPS, 0);
  expect(follower.update(CARRIED_QPS, 104, NOISE_QPS, 1000)).toBe(false);
  expect(follower.update(CARRIED_QPS, 106, NOISE_QPS, 2000)).toBe(true);
  expect(follower.level).toBe(1);
  follower.update(CARRIED_QPS, 5000, NOISE_QPS, 3000);
  expect(follower.level).toBe(2);
});

test("goes down every ten seconds at most, and with three deviations to spare", () => {
  const follower = new LevelFollower([100, 200, 400], 1000);
  follower.update(CARRIED_QPS, 150, NOISE_QPS, 0);
  expect(follower.update(CARRIED_QPS, 50, NOISE_QPS, 9000)).toBe(false);
  expect(follower.update(CARRIED_QPS, 86, NOISE_QPS, 10_000)).toBe(false);
  expect(follower.update(CARRIED_QPS, 84, NOISE_QPS, 19_000)).toBe(false);
  expect(follower.update(CARRIED_QPS, 84, NOISE_QPS, 20_000)).toBe(true);
  expect(follower.level).toBe(0);
});

test("where servers are lost, a level that needs fewer may carry more than one above it", () => {
  const follower = new LevelFollower([100, 200, 400], 1000);
  follower.update(CARRIED_QPS, 90, NOISE_QPS, 0);
  follower.update(Float64Array.of(50, 80, 60), 120, NOISE_QPS, 1000);
  expect(follower.level).toBe(1);
});

test("levels are ranked by what they are meant to carry, not by their index", () => {
  const follower = new LevelFollower([100, 400, 200], 1000);
  const carriedQps = Float64Array.of(100, 400, 200);
  follower.update(carriedQps, 150, NOISE_QPS, 0);
  expect(follower.level).toBe(2);
  follower.update(carriedQps, 300, NOISE_QPS, 1000);
  expect(follower.level).toBe(1);
});
