/** What is promised at the load and the pace that are measured. */
import fc from "fast-check";
import { expect, test } from "vitest";
import type { RamsisBundle } from "../../../../runtime/bundle/schema.ts";
import { promisedNow } from "../../../../runtime/server/measures/promised-now.ts";
import { tinyBundle } from "../../../support/tiny-bundle.ts";

const BY_PACE = [
  { pace: 1.5, accuracyPerQuery: 0.8, violationRate: 0.01, p50: 5, p99: 50 },
  { pace: 2, accuracyPerQuery: 0.6, violationRate: 0.2, p50: 9, p99: 90 },
];

function withPaces(): RamsisBundle {
  const bundle = tinyBundle();
  const levels = bundle.levels.map((level) => ({
    ...level,
    expected: { ...level.expected, byPace: BY_PACE },
  }));
  return { ...bundle, levels };
}

test("as profiled the level that decides promises what it states", () => {
  const bundle = withPaces();
  const [level] = bundle.levels;
  expect(promisedNow(bundle, { level: 0, loadQps: 1, pace: 1 })).toMatchObject({
    violationRate: level?.expected.violationRate,
    feasible: level?.feasible,
  });
});

test("queue times are promised by level and by pace, where a bundle states them", () => {
  const queueMs = { p50: 1, p99: 20, max: 30 };
  const paced = { p50: 2, p99: 40, max: 60 };
  const [first, second] = BY_PACE;
  const bundle = withPaces();
  const byPace = [{ ...first, queueMs: paced }, { ...second }];
  const levels = bundle.levels.map((level) => {
    return { ...level, expected: { ...level.expected, queueMs, byPace } };
  });
  const stating = { ...bundle, levels } as RamsisBundle;
  const promised = (pace: number) => promisedNow(stating, { level: 0, loadQps: 1, pace })?.queueMs;
  expect([1, 1.5, 2].map(promised)).toEqual([queueMs, paced, undefined]);
  expect(promisedNow(bundle, { level: 0, loadQps: 1, pace: 1 })?.queueMs).toBeUndefined();
});

test("a slower machine is promised what is stated of the next higher pace", () => {
  const bundle = withPaces();
  const promised = promisedNow(bundle, { level: 0, loadQps: 1, pace: 1.75 });
  expect(promised).toEqual({
    ...{ violationRate: 0.2, feasible: true, accuracyPerSatisfied: 0.6 / 0.8 },
    latencyMs: { p50: 9, p99: 90 },
  });
  expect(promisedNow(bundle, { level: 0, loadQps: 1, pace: 2.5 })).toBeUndefined();
});

test("a level for slower machines that still decides promises what is stated of its pace", () => {
  const bundle = withPaces();
  const [level] = bundle.levels;
  if (level === undefined) throw new Error("the bundle has a level");
  const paceLevels = [1.5, 2].map((pace) => ({ ...level, pace }));
  const all = { ...bundle, paceLevels };
  const promised = (pace: number) =>
    promisedNow(all, { level: bundle.levels.length + 1, loadQps: 1, pace })?.violationRate;
  expect([promised(0.8), promised(1), promised(1.5)]).toEqual([0.2, 0.2, 0.2]);
  expect(promised(2.5)).toBeUndefined();
});

test("without promises by pace the level is asked, and one of a pace promises none", () => {
  const bundle = tinyBundle();
  const { violationRate } = bundle.levels[0]?.expected ?? {};
  expect(promisedNow(bundle, { level: 0, loadQps: 1, pace: 2 })?.violationRate).toBe(violationRate);
  const beyond = bundle.levels.length;
  expect(promisedNow(bundle, { level: beyond, loadQps: 1, pace: 2 })).toBeUndefined();
});

test("an accuracy is promised between 0 and 1, whatever a bundle states for a pace", () => {
  const share = fc.double({ min: 0, max: 1, noNaN: true });
  fc.assert(
    fc.property(share, share, (accuracyPerQuery, violationRate) => {
      const bundle = tinyBundle();
      const byPace = [{ pace: 2, accuracyPerQuery, violationRate, p50: 5, p99: 50 }];
      const levels = bundle.levels.map((level) => {
        return { ...level, expected: { ...level.expected, byPace } };
      });
      const promised = promisedNow({ ...bundle, levels }, { level: 0, loadQps: 1, pace: 2 });
      const accuracy = promised?.accuracyPerSatisfied ?? 0;
      expect(accuracy >= 0 && accuracy <= 1).toBe(true);
    }),
  );
});
