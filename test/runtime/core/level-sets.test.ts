import { expect, test } from "vitest";
import { LevelSets, POOLED_LEVEL_CHOICE } from "../../../runtime/core/level-choice.ts";

const LEVELS = [{ loadQps: 100 }, { loadQps: 200 }, { loadQps: 400 }];
const PACED = [
  { pace: 1.5, loadQps: 200 },
  { pace: 1.5, loadQps: 400 },
  { pace: 2.5, loadQps: 400 },
];

function seen(qps: number) {
  const window = { queries: 10 * qps, ms: 10_000, clump: 1 };
  return { isKnown: true, window, newest: window };
}

function setsOf(paced = PACED): LevelSets {
  return new LevelSets(LEVELS, paced, POOLED_LEVEL_CHOICE, 1000);
}

test("on a machine as profiled the levels are chosen by the load", () => {
  const sets = setsOf();
  expect([150, 80, 400, 390].map((qps, at) => sets.update(seen(qps), 1000 * at, 1, 1))).toEqual([
    1, 0, 2, 2,
  ]);
});

test("without pace levels a slow machine uses the levels of higher loads", () => {
  const sets = setsOf([]);
  expect(sets.update(seen(100), 0, 2, 2)).toBe(1);
  expect(sets.update(seen(300), 1_000, 2, 2)).toBe(2);
  expect(sets.pace).toBe(1);
});

test("the first set that is not faster than the workers decides, the load scaled to it", () => {
  const sets = setsOf();
  expect(sets.update(seen(190), 0, 1.5, 1.5)).toBe(3);
  expect(sets.pace).toBe(1.5);
  expect(sets.update(seen(230), 1_000, 1.3, 1.3)).toBe(3);
  expect(sets.update(seen(390), 2_000, 1.75, 1.75)).toBe(5);
  expect(sets.pace).toBe(2.5);
  expect(sets.update(seen(150), 3_000, 1, 1)).toBe(1);
  expect(sets.pace).toBe(1);
});

test("a set is not left for a pace that is hardly another", () => {
  const sets = setsOf();
  sets.update(seen(190), 0, 1.05, 1.05);
  expect(sets.pace).toBe(1);
  sets.update(seen(190), 1_000, 1.15, 1.15);
  expect(sets.pace).toBe(1.5);
  sets.update(seen(190), 2_000, 0.8, 0.8);
  expect(sets.pace).toBe(1);
});

test("lost workers take a set for its capacity, and leave it when the load fits again", () => {
  const sets = setsOf();
  expect(sets.update(seen(390), 0, 1, 1)).toBe(2);
  // Half of the workers are gone: 390/s are as 780/s, above 400 · 1.5, within 400 · 2.5.
  expect(sets.update(seen(390), 1_000, 1, 2)).toBe(5);
  expect(sets.update(seen(390), 2_000, 1, 1)).toBe(2);
});

test("rises are followed at once, falls a beat after the last change", () => {
  const sets = setsOf();
  expect(sets.update(seen(150), 0, 1, 1)).toBe(1);
  expect(sets.update(seen(390), 10, 1, 1)).toBe(2);
  expect(sets.update(seen(80), 900, 1, 1)).toBe(2);
  expect(sets.update(seen(80), 1020, 1, 1)).toBe(0);
  // A slower machine is a rise, a recovered one a fall.
  expect(sets.update(seen(190), 1030, 1.5, 1.5)).toBe(3);
  expect(sets.update(seen(190), 1900, 1, 1)).toBe(3);
  expect(sets.update(seen(190), 2031, 1, 1)).toBe(1);
});
