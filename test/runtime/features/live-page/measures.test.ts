/** Measures that the page computes from snapshots in the browser. */
import { describe, expect, test } from "vitest";
import { History } from "../../../../runtime/features/live-page/client/history.ts";
import {
  measuresOf,
  quantile,
  quantileText,
} from "../../../../runtime/features/live-page/client/measures.ts";
import { ratioText, ticksTo } from "../../../../runtime/features/live-page/client/numbers.ts";
import { Trends } from "../../../../runtime/features/live-page/client/trends.ts";
import { verdictsOf } from "../../../../runtime/features/live-page/client/verdict.ts";
import type { LiveApplication } from "../../../../runtime/features/live-page/live.ts";

const VARIANT = { task: "t", batches: 0, assigned: null, ready: null, cores: null };
const LEVEL = { index: 0, pace: 1, loadQps: 100, feasible: true, accuracy: 0.9, p99Ms: null };

/** @param late of so many rows, all run by the second variant. */
function application(satisfied: number, late: number, accuracy = 0.9): LiveApplication {
  const none = { startPlaces: null, starts: null };
  return {
    ...{ name: "a", method: "m", bundleSha256: "", isReady: true, isLevelFollowed: true },
    slo: { latencyMs: 100, maxViolationRate: 0.05 },
    ...{ pace: null, loadQps: 50, level: 0, levelCount: 1, pending: 0 },
    levels: [{ ...LEVEL, violationRate: 0.01 }],
    workers: { count: 1, ready: 1, lost: 0, hung: 0 },
    rows: { satisfied, late, dropped: 0 },
    satisfiedAccuracy: satisfied * accuracy,
    requests: { answered: satisfied + late, failed: 0, answeredMs: 20 * (satisfied + late) },
    latency: { bounds: [10, 20], counts: [satisfied, late, 0] },
    slack: null,
    promised: { accuracy: 0.9, violationRate: 0.01 },
    promises: [],
    variants: [
      { ...VARIANT, ...none, name: "one", accuracy: 0.5, rows: 0 },
      { ...VARIANT, ...none, name: "two", accuracy: 0.9, rows: satisfied + late },
    ],
    ...{ variantsLeftOut: 0, classes: [], places: null },
  };
}

function historyOf(applications: readonly LiveApplication[]): History {
  const history = new History();
  for (const [second, one] of applications.entries()) {
    history.add({ atMs: 1000 * (second + 1), application: one });
  }
  return history;
}

describe("measures", () => {
  test("cover the rows between two snapshots, or all", () => {
    const between = measuresOf(application(200, 10), application(100, 0, 0.8));
    expect(between).toMatchObject({ rows: 110, violations: 10, meanMs: 20, shares: [0, 1] });
    expect(between.accuracy).toBeCloseTo((200 * 0.9 - 100 * 0.8) / 100);
    expect(measuresOf(application(200, 10)).violationRate).toBeCloseTo(10 / 210);
    expect(measuresOf(application(5, 0), application(5, 0))).toMatchObject({
      ...{ rows: 0, violationRate: null, accuracy: null, meanMs: null, p99Ms: null },
      shares: [null, null],
    });
  });

  test("interpolate quantiles within a bucket, and give the last bound beyond it", () => {
    const histogram = { bounds: [10, 20], counts: [50, 50, 0] };
    expect([quantile(histogram, 0.5), quantile(histogram, 0.75)]).toEqual([10, 15]);
    const beyond = { bounds: [10, 20], counts: [0, 0, 5] };
    expect(quantileText(quantile(beyond, 0.99), beyond)).toBe("≥ 20 ms");
    const late = { bounds: [-100, 0], counts: [1, 0, 0] };
    expect(quantile(late, 1)).toBe(-100);
    expect(quantileText(quantile(late, 1), late)).toBe("≤ -100 ms");
    // No slack is more than the SLO, in whatever bucket that is.
    expect(quantile({ bounds: [200, 500], counts: [0, 4, 0] }, 1, 250)).toBe(250);
  });
});

describe("the history", () => {
  test("keeps five minutes, and each second once", () => {
    const history = new History();
    for (let second = 0; second <= 400; second++) {
      for (const atMs of [1000 * second, 1000 * second]) {
        history.add({ atMs, application: application(second, 0) });
      }
    }
    expect(history.snapshots).toHaveLength(301);
    expect(history.before(300, 10_000)?.atMs).toBe(390_000);
  });

  test("starts again where a single counter falls, so that no rate is negative", () => {
    const history = historyOf([application(100, 50), application(300, 0)]);
    expect(history.snapshots).toHaveLength(1);
    expect(measuresOf(application(300, 0), history.before(0, 1000)?.application)).toMatchObject({
      violations: 0,
      violationRate: null,
    });
  });

  test("starts again after a restart of the server", () => {
    const history = historyOf([application(5, 0), application(9, 0)]);
    const trends = new Trends();
    trends.update(history);
    history.add({ atMs: 9000, application: application(1, 0) });
    expect(history.snapshots).toHaveLength(1);
    expect(trends.update(history)).toHaveLength(1);
  });
});

describe("a verdict", () => {
  test.each([
    ["unknown", [application(0, 0), application(50, 40)]],
    ["kept", [application(0, 0), application(1000, 10)]],
    ["chance", [application(0, 0), application(990, 15)]],
    ["broken", [application(0, 0), application(900, 100)]],
  ] as const)("on violations is %s", (verdict, applications) => {
    expect(verdictsOf(historyOf(applications).snapshots).violations).toBe(verdict);
  });

  test.each([
    ["worse", true, 100],
    ["kept", true, 1],
    ["broken", false, 100],
    ["broken", false, 1],
  ] as const)("is %s where the watched promise holds: %s, with %i late", (verdict, holds, late) => {
    const { snapshots } = historyOf([application(0, 0), application(900, late)]);
    const promise = { promise: "violations", holds, isDoubted: false, text: "" } as const;
    expect(verdictsOf(snapshots, [promise]).violations).toBe(verdict);
    // Another promise says nothing about this one.
    const other = { ...promise, promise: "cost" } as const;
    expect(verdictsOf(snapshots, [other])).toEqual(verdictsOf(snapshots));
  });

  test("on accuracy compares each second with what was promised then", () => {
    const kept = historyOf([application(0, 0), application(500, 0, 0.899)]);
    expect(verdictsOf(kept.snapshots).accuracy).toBe("kept");
    const broken = historyOf([application(0, 0), application(500, 0, 0.88)]);
    expect(verdictsOf(broken.snapshots).accuracy).toBe("broken");
  });

  test("ignores rows without a promise, such as above the highest level", () => {
    const beyond = [application(0, 0), application(900, 100)].map((one) => ({
      ...one,
      promised: { accuracy: null, violationRate: null },
    }));
    expect(verdictsOf(historyOf(beyond).snapshots).violations).toBe("unknown");
  });
});

test("axes have a few round values", () => {
  expect(ticksTo(0, 230)).toEqual([0, 100, 200]);
  expect(ticksTo(0.88, 0.95).length).toBeLessThanOrEqual(5);
  expect(ticksTo(5, 5)).toEqual([5]);
  expect([ratioText(0), ratioText(1e-7), ratioText(0.00012)]).toEqual(["0%", "<0.001%", "0.012%"]);
});
