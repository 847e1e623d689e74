import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { PeerCluster } from "../../../../../../compiler/methods/ramsis/simulate/peers/peer-cluster.ts";
import { proteus } from "../../../../../../compiler/methods/ramsis/simulate/peers/proteus.ts";
import {
  type ProteusPlan,
  ProteusPlanner,
} from "../../../../../../compiler/methods/ramsis/simulate/peers/proteus-plan.ts";
import { casesOf } from "../../../../../support/cases.ts";
import { PeerDriver, settingWith, tinyCluster } from "../../../../../support/peer-driver.ts";

/** Rates are rounded down to steps of the table, so shares are off by as little. */
function expectPlan(plan: ProteusPlan, workers: number[], shares: number[]): void {
  expect(plan.workers).toEqual(workers);
  for (const [variant, share] of shares.entries()) {
    expect(plan.shares[variant]).toBeCloseTo(share, 4);
  }
}

/**
 * Accuracy of a plan that gives each variant so many workers: the most accurate are used up first.
 * Null if they do not carry the load.
 */
function accuracyOf(planner: ProteusPlanner, workers: readonly number[], loadQps: number) {
  const byAccuracy = planner.variants
    .map(({ variant, rateQps }, index) => ({
      accuracy: variant.accuracy,
      capacityQps: rateQps * (workers[index] ?? 0),
    }))
    .sort((a, b) => b.accuracy - a.accuracy);
  let left = loadQps;
  let sum = 0;
  for (const { accuracy, capacityQps } of byAccuracy) {
    const carried = Math.min(left, capacityQps);
    sum += accuracy * carried;
    left -= carried;
  }
  return left > 1e-9 ? null : sum / loadQps;
}

function* assignments(workers: number, variants: number): Generator<number[]> {
  if (variants === 1) yield [workers];
  else {
    for (let count = 0; count <= workers; count++) {
      for (const rest of assignments(workers - count, variants - 1)) yield [count, ...rest];
    }
  }
}

describe("Proteus' program", () => {
  // In less than 50 ms small serves 3 in 25 ms, 120 a second; large one in 40 ms, 25 a second.
  const planner = new ProteusPlanner(tinyCluster({ workers: 2 }), 1 / 2);

  test("uses the most accurate variant up, and as little as must be of the others", () => {
    expectPlan(planner.plan(100, 1), [1, 1], [0.75, 0.25]);
    expectPlan(planner.plan(140, 1), [1, 1], [115 / 140, 25 / 140]);
    expectPlan(planner.plan(150, 1), [2, 0], [1, 0]);
    expectPlan(planner.plan(40, 1), [0, 2], [0, 1]);
  });

  test("gives workers that are left over to the variant that is busiest", () => {
    const three = new ProteusPlanner(tinyCluster({ workers: 3 }), 1 / 2);
    expectPlan(three.plan(20, 1), [0, 3], [0, 1]);
  });

  test("plans for less of a load that is beyond capacity, in steps", () => {
    // 1.05 · 138 is 144.9, but with 3 % more it takes two small ones.
    expectPlan(planner.plan(138, 1.05), [1, 1], [119.9 / 144.9, 25 / 144.9]);
    expectPlan(planner.plan(142, 1.05), [2, 0], [1, 0]);
    // 1.05 and 1.00 times 260 is more than 240, 0.90 is 234.
    expectPlan(planner.plan(260, 1.05), [2, 0], [1, 0]);
    expectPlan(planner.plan(1e6, 1.05), [2, 0], [1, 0]);
  });

  test("is as accurate as the best of all assignments", () => {
    const latency = fc.record({
      accuracy: fc.double({ min: 0.1, max: 1, noNaN: true }),
      baseMs: fc.double({ min: 1, max: 60, noNaN: true }),
      perQueryMs: fc.double({ min: 0.5, max: 40, noNaN: true }),
    });
    fc.assert(
      fc.property(
        fc.array(latency, { minLength: 1, maxLength: 3 }),
        fc.integer({ min: 1, max: 5 }),
        fc.double({ min: 0.02, max: 0.99, noNaN: true }),
        (sketches, workers, part) => {
          const variants = sketches.map(({ accuracy, baseMs, perQueryMs }, index) => ({
            name: `v${index}`,
            accuracy,
            latencyMs: (batch: number) => baseMs + batch * perQueryMs,
          }));
          const small = new ProteusPlanner(tinyCluster({ variants, workers }), 1);
          const highest = Math.max(...small.variants.map(({ rateQps }) => rateQps));
          const loadQps = part * workers * highest;
          const plan = small.plan(loadQps, 1);
          const best = Math.max(
            ...[...assignments(workers, small.variants.length)].map(
              (counts) => accuracyOf(small, counts, loadQps) ?? 0,
            ),
          );
          const accuracy = plan.shares.reduce(
            (sum, share, index) => sum + share * (small.variants[index]?.variant.accuracy ?? 0),
            0,
          );
          expect(plan.workers.reduce((sum, count) => sum + count, 0)).toBe(workers);
          expect(plan.shares.reduce((sum, share) => sum + share, 0)).toBeCloseTo(1, 9);
          expect(accuracy).toBeGreaterThan(best - 1e-3);
          expect(accuracy).toBeLessThan(best + 1e-9);
        },
      ),
      // Every plan fills a table of millions of cells.
      { numRuns: casesOf(40, 4) },
    );
  });
});

describe("Proteus' workers", () => {
  /** One worker with the large variant, 40, 60 and 80 ms: full with three. */
  const driverOf = (cluster: PeerCluster, batchShare = 1): PeerDriver =>
    new PeerDriver(cluster, settingWith(proteus, cluster, { batchShare, beta: 1 }));

  test("wait as long as the first query allows", () => {
    const driver = driverOf(tinyCluster());
    expect(driver.arrive(0, 0)).toEqual([]);
    expect(driver.dispatcher.wakeMs).toBe(60);
    expect(driver.arrive(1, 10)).toEqual([]);
    expect(driver.dispatcher.wakeMs).toBe(40);
    expect(driver.wake()).toEqual(["0: variant 1 on 0,1"]);
  });

  test("do not wait when the batch is full", () => {
    const driver = driverOf(tinyCluster());
    for (const query of [0, 1]) driver.arrive(query, 10 * query);
    expect(driver.arrive(2, 20)).toEqual(["0: variant 1 on 0,1,2"]);
    expect(driverOf(tinyCluster(), 0.5).arrive(0, 0)).toEqual(["0: variant 1 on 0"]);
  });

  test("leave without the newest when it would make the first late", () => {
    const driver = driverOf(tinyCluster());
    for (const query of [0, 1]) driver.arrive(query, 10 * query);
    expect(driver.arrive(2, 25)).toEqual(["0: variant 1 on 0,1"]);
    expect([...driver.waiting]).toEqual([2]);
  });

  test("drop the first when what waits, as one batch, would make it late", () => {
    const driver = driverOf(tinyCluster());
    driver.arrive(0, 0);
    driver.wake();
    driver.arrive(1, 61, 145);
    for (const query of [2, 3]) driver.arrive(query, 70, 200);
    // At 100 the three take until 180; without the first, two of them have until 140.
    expect(driver.done(0, 100)).toEqual(["drops 1"]);
    expect(driver.dispatcher.wakeMs).toBe(140);
  });

  test("of one variant share a queue, or have one each", () => {
    const cluster = tinyCluster({ workers: 2 }, 10);
    const shared = driverOf(cluster, 0.5);
    const separate = new PeerDriver(
      cluster,
      settingWith(proteus, cluster, { sharedQueues: false }),
    );
    const firstFour = (driver: PeerDriver) =>
      [0, 1, 2, 3].flatMap((query) => driver.arrive(query, query));
    expect(firstFour(shared)).toEqual(["0: variant 1 on 0", "1: variant 1 on 1"]);
    // At random, and by far not always to the worker that is free.
    const workers = firstFour(separate).map((command) => command.slice(0, 1));
    expect(new Set(workers).size).toBe(workers.length);
    expect(separate.running.size + separate.waiting.size).toBeGreaterThanOrEqual(3);
  });

  test("change what they run when the load does, and lose nothing that waits", () => {
    const cluster = tinyCluster({ workers: 2 }, 20);
    const driver = driverOf(cluster, 0.5);
    const variants = new Set<number>();
    let nowMs = 0;
    // 20 queries a second are for the large variant alone, 167 for the small one.
    for (let query = 0; query < 1200; query++) {
      nowMs += query < 20 ? 50 : 6;
      for (const worker of [...driver.running.keys()]) driver.done(worker, nowMs);
      while (driver.dispatcher.wakeMs <= nowMs) driver.wake();
      driver.arrive(query, nowMs);
      for (const { variant } of driver.running.values()) {
        if (query < 20 || query > 1000) variants.add(query < 20 ? variant : 10 + variant);
      }
    }
    expect(variants).toEqual(new Set([1, 10]));
    const { served, dropped, waiting, running } = driver;
    const busy = [...running.values()].flatMap(({ queries }) => queries);
    expect(served.length + dropped.length + waiting.size + busy.length).toBe(1200);
  });
});
