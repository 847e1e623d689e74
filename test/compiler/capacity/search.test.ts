import { expect, test } from "vitest";
import type { SearchOptions, Trial } from "../../../compiler/capacity/search.ts";
import type { Window } from "../../../compiler/processes/level-request.ts";
import { Rng } from "../../../runtime/core/rng.ts";
import { covers, searched } from "../../support/capacity-search.ts";
import { capacityOf, queueWindows } from "../../support/simple-queue.ts";

const SIMULATED: SearchOptions = {
  ...{ startQps: 300, limit: 0.01, confidence: 0.99, step: 1.05 },
  ...{ belowQps: Number.POSITIVE_INFINITY },
  trials: [1, 4],
};
const LIVE: SearchOptions = { ...SIMULATED, step: 1.08, trials: [3, 12] };
const QUEUE = { serviceQps: 1000, sloMs: 50 };

/** A machine on which a share of the requests is late that depends on the load alone. */
function windowsOf(queries: number, rateOf: (loadQps: number) => number) {
  return ({ loadQps }: Trial): Window[] =>
    Array.from({ length: 8 }, () => {
      const late = Math.round(queries * rateOf(loadQps));
      return { queries, late, serverLate: late, slow: late };
    });
}

test("brackets the capacity of a known queue, narrowly, for every seed", () => {
  const true99 = capacityOf(QUEUE, 0.01);
  for (let seed = 1; seed <= 12; seed++) {
    const rng = new Rng(seed, 1);
    const found = searched(SIMULATED, ({ loadQps, isBrief }) =>
      queueWindows(QUEUE, loadQps, isBrief ? 2 : 4, rng),
    );
    expect(covers(found, true99), `seed ${seed}: ${found.holdsQps} to ${found.failsQps}`).toBe(
      true,
    );
    expect((found.failsQps ?? Infinity) / (found.holdsQps ?? 0)).toBeLessThan(1.35);
  }
});

test("finds a capacity far above and far below the first load", () => {
  for (const capacity of [3, 40_000]) {
    const found = searched(
      SIMULATED,
      windowsOf(2000, (load) => (load <= capacity ? 0 : 0.5)),
    );
    expect(found.holdsQps).toBeLessThanOrEqual(capacity);
    expect(found.failsQps).toBeGreaterThan(capacity);
    expect((found.failsQps ?? 0) / (found.holdsQps ?? 1)).toBeLessThan(1.2);
  }
});

test("ends with what is known when the time is over", () => {
  const never = searched(SIMULATED, () => null);
  expect(never).toMatchObject({ holdsQps: null, failsQps: null, estimateQps: null, queries: 0 });
  const early = searched(SIMULATED, (trial, index) => {
    return index < 7 ? windowsOf(2000, (load) => (load <= 500 ? 0 : 0.5))(trial) : null;
  });
  // The brief trials are evidence too: 16,000 requests of a load, all in time.
  expect(early.queries).toBe(7 * 8 * 2000);
  expect(early.holdsQps).toBeGreaterThan(400);
  expect(early.holdsQps).toBeLessThanOrEqual(500);
  expect(early.estimateQps).toBeGreaterThan(400);
  expect(early.estimateQps).toBeLessThan(600);
});

test("judges once more when the time is over, with the trials that there are", () => {
  const trialsAt = new Map<number, number>();
  const windows = windowsOf(25, (load) => (load <= 500 ? 0 : 0.5));
  const run = (most: number) =>
    searched(LIVE, (trial) => {
      if (trial.isBrief) return windows(trial);
      const trials = (trialsAt.get(trial.loadQps) ?? 0) + 1;
      trialsAt.set(trial.loadQps, trials);
      return trials > most ? null : windows(trial);
    });
  // 735 requests in time are needed, and a trial has 200.
  expect(run(3).holdsQps).toBeNull();
  trialsAt.clear();
  const { holdsQps, failsQps } = run(4);
  expect(holdsQps).toBeLessThanOrEqual(500);
  expect(failsQps).toBeGreaterThan(500);
});

test("proves nothing without enough requests", () => {
  const few = searched(
    SIMULATED,
    windowsOf(2, () => 0),
  );
  expect(few).toMatchObject({ holdsQps: null, failsQps: null });
});

test("a machine that is slow every second trial bounds both loads", () => {
  const trialsAt = new Map<number, number>();
  const found = searched(LIVE, (trial) => {
    const trials = (trialsAt.get(trial.loadQps) ?? 0) + 1;
    trialsAt.set(trial.loadQps, trials);
    // Every second trial between 400 and 600 is on a slow machine.
    const capacity = trials % 2 === 0 ? 400 : 600;
    return windowsOf(2000, (load) => (load <= capacity ? 0 : 0.5))(trial);
  });
  expect(found.holdsQps).toBeLessThanOrEqual(400);
  expect(found.failsQps).toBeGreaterThan(600);
});

test("requests that are sent late are the limit of the load generator", () => {
  const found = searched(LIVE, ({ loadQps }) =>
    Array.from({ length: 8 }, () => {
      const late = loadQps > 500 ? 1000 : 0;
      return { queries: 2000, late, serverLate: 0, slow: late };
    }),
  );
  expect(found.holdsQps).toBeLessThanOrEqual(500);
  expect(found.failsQps).toBeNull();
  expect(found.generatorQps).toBeGreaterThan(500);
});

test("a load that failed once bounds what holds, when the time is over", () => {
  let trials = 0;
  const found = searched(LIVE, ({ loadQps }) => {
    if (++trials > 14) return null;
    // The first trial is on a machine that is slow for a while.
    return windowsOf(2000, () => (trials === 1 || loadQps > 900 ? 0.5 : 0))({
      loadQps,
      isBrief: true,
    });
  });
  expect(found.holdsQps).not.toBe(null);
  expect(found.holdsQps ?? 0).toBeLessThan(found.failsQps ?? Number.POSITIVE_INFINITY);
});
