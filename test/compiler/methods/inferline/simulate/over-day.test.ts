import { expect, test } from "vitest";
import { minutesOf } from "../../../../../compiler/methods/inferline/simulate/minutes.ts";
import { inferlineOverDay } from "../../../../../compiler/methods/inferline/simulate/over-day.ts";
import { inferlineBundle } from "../../../../support/inferline-bundle.ts";

const BUNDLE = inferlineBundle({
  tasks: [{ name: "a", latencyMs: { 1: 20 } }],
  policy: { tuner: "joint", activationMs: 500 },
  levels: [
    {
      loadQps: 10,
      stages: [[1, 1]],
      envelope: [
        [100, 5],
        [1000, 20],
        [10_000, 130],
        [60_000, 660],
      ],
    },
    {
      loadQps: 60,
      stages: [[1, 3]],
      envelope: [
        [100, 16],
        [1000, 85],
        [10_000, 670],
        [60_000, 3750],
      ],
    },
  ],
});

test("seconds are folded into minutes, the last of which may be shorter", () => {
  const seconds = Array.from({ length: 90 }, (_, second) => ({
    requests: 2,
    violations: second % 2,
    servers: 1,
    costPerHour: second < 60 ? 1 : 3,
    level: 0,
  }));
  expect(minutesOf(seconds)).toEqual([
    { requests: 120, violations: 30, costPerHour: 1 },
    { requests: 60, violations: 15, costPerHour: 3 },
  ]);
});

test("a synthetic day goes from the lowest load up to the highest and back", () => {
  const day = inferlineOverDay(BUNDLE, null);
  expect(day).toMatchObject({
    of: "from 10 to 60 requests/s and back, an hour in 60 s",
    durationMs: 1_440_000,
    peak: { costPerHour: 3 },
  });
  const requests = day?.followed.minutes.map((minute) => minute.requests) ?? [];
  expect(requests).toHaveLength(24);
  const [first = 0, middle = 0] = [requests[0], requests[11]];
  expect(middle).toBeGreaterThan(3 * first);
  expect(day?.followed.costPerHour).toBeLessThan(3);
  expect(day?.plannedCostPerHour).toBeGreaterThan(1);
  expect(inferlineOverDay(BUNDLE, null)).toEqual(day);
});

test("a day that is named is followed as it is", () => {
  const rates = {
    kind: "rates",
    startMs: Float64Array.of(0, 60_000),
    qps: Float64Array.of(10, 50),
    endMs: 120_000,
  } as const;
  const day = inferlineOverDay(BUNDLE, { file: "somewhere/monday.csv", trace: rates });
  expect(day).toMatchObject({ of: "monday.csv", durationMs: 120_000, planned: [1, 3] });
  const recorded = { kind: "arrivals", arrivalMs: Float64Array.of(0, 500, 61_000) } as const;
  const arrivals = inferlineOverDay(BUNDLE, { file: "few.csv", trace: recorded });
  expect(arrivals?.followed.minutes.map(({ requests }) => requests)).toEqual([2, 1]);
});

test("of one level there is no such day", () => {
  expect(inferlineOverDay({ ...BUNDLE, levels: BUNDLE.levels.slice(0, 1) }, null)).toBeNull();
});
