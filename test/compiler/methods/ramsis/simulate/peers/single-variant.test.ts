import { describe, expect, test } from "vitest";
import { clockwork } from "../../../../../../compiler/methods/ramsis/simulate/peers/clockwork.ts";
import { nexus } from "../../../../../../compiler/methods/ramsis/simulate/peers/nexus.ts";
import { symphony } from "../../../../../../compiler/methods/ramsis/simulate/peers/symphony.ts";
import { PeerDriver, settingWith, tinyCluster } from "../../../../../support/peer-driver.ts";

/** Everything here runs the small variant: 15, 20 and 25 ms for one to three queries. */
describe("Symphony", () => {
  const driverOf = (controlMs: number): PeerDriver => {
    const cluster = tinyCluster();
    return new PeerDriver(cluster, settingWith(symphony, cluster, { variant: "small", controlMs }));
  };

  test("waits until one more query would make the first late, a full batch not at all", () => {
    const driver = driverOf(0);
    expect(driver.arrive(0, 0)).toEqual([]);
    expect(driver.dispatcher.wakeMs).toBeCloseTo(100 - 20, 5);
    expect(driver.arrive(1, 10)).toEqual([]);
    expect(driver.dispatcher.wakeMs).toBeCloseTo(100 - 25, 5);
    expect(driver.wake()).toEqual(["0: variant 0 on 0,1"]);
    expect(driver.dispatcher.wakeMs).toBe(Number.POSITIVE_INFINITY);
    driver.done(0, 95);
    for (const query of [2, 3]) expect(driver.arrive(query, 100)).toEqual([]);
    expect(driver.arrive(4, 101)).toEqual(["0: variant 0 on 2,3,4"]);
  });

  test("keeps time for messages, inputs and answers", () => {
    const driver = driverOf(0.1);
    driver.arrive(0, 0);
    // The deadline is 98 to it; two queries take 20 ms and the second's input 0.05; the message 0.1
    // and the first's input 0.05.
    expect(driver.dispatcher.wakeMs).toBeCloseTo(98 - 20 - 0.05 - 0.1 - 0.05, 5);
  });

  test("drops the first when those behind it make a batch that it would miss", () => {
    const driver = driverOf(0);
    for (const query of [0, 1, 2]) driver.arrive(query, 0);
    driver.arrive(3, 1, 44);
    for (const query of [4, 5]) driver.arrive(query, 2, 101);
    // At 25 query 3 could be served alone by 40, but in the batch of the other two, done at 45, it
    // is late.
    expect(driver.done(0, 25)).toEqual(["drops 3"]);
    expect(driver.dispatcher.wakeMs).toBeCloseTo(101 - 25, 5);
    expect(driver.wake()).toEqual(["0: variant 0 on 4,5"]);
  });

  test("adds queries that fit beyond its target batch", () => {
    const driver = driverOf(0);
    for (const query of [0, 1, 2]) driver.arrive(query, 0);
    driver.arrive(3, 1, 50);
    for (const query of [4, 5]) driver.arrive(query, 2, 101);
    expect(driver.done(0, 25)).toEqual(["0: variant 0 on 3,4,5"]);
  });

  test("drops what no batch serves in time any more", () => {
    const driver = driverOf(0);
    for (const query of [0, 1, 2]) driver.arrive(query, 0);
    for (const query of [3, 4]) driver.arrive(query, 1, 39);
    expect(driver.done(0, 25)).toEqual(["drops 3", "drops 4"]);
  });

  test.each([
    [2, ["0: variant 1 on 1"]],
    [22, ["drops 1", "0: variant 1 on 2,3,4"]],
  ])("aims at larger batches the higher the load: with %i behind it the first", (behind, done) => {
    // The large variant: 40, 60, 80 ms. 3 queries in 80 ms keep n = 1 worker busy, 80 · (1 + 1 / n)
    // is too long; 23 keep 7.7, and it is not.
    const cluster = tinyCluster();
    const wanted = { variant: "large", controlMs: 0 };
    const driver = new PeerDriver(cluster, settingWith(symphony, cluster, wanted));
    driver.arrive(0, 0);
    expect(driver.dispatcher.wakeMs).toBeCloseTo(100 - 60, 5);
    driver.wake();
    driver.arrive(1, 79, 130);
    for (let query = 2; query < 2 + behind; query++) driver.arrive(query, 79);
    expect(driver.done(0, 80)).toEqual(done);
  });
});

describe("Clockwork", () => {
  const driverOf = (aheadMs: number): PeerDriver => {
    const cluster = tinyCluster();
    return new PeerDriver(cluster, settingWith(clockwork, cluster, { variant: "small", aheadMs }));
  };

  test("never waits, and prefers a full batch to the first query", () => {
    const driver = driverOf(0);
    expect(driver.arrive(0, 0)).toEqual(["0: variant 0 on 0"]);
    driver.arrive(1, 1, 34);
    driver.arrive(2, 2);
    driver.arrive(3, 3);
    // At 15 query 1 is in time alone, but two others fill a batch that it is not in time for.
    expect(driver.done(0, 15)).toEqual(["drops 1", "0: variant 0 on 2,3"]);
  });

  test("rejects what is in time for no batch, and runs the largest that is full", () => {
    const driver = driverOf(0);
    driver.arrive(0, 0);
    driver.arrive(1, 1, 29);
    expect(driver.done(0, 15)).toEqual(["drops 1"]);
    expect(driver.arrive(2, 16)).toEqual(["0: variant 0 on 2"]);
    for (const query of [3, 4, 5, 6]) driver.arrive(query, 20);
    expect(driver.done(0, 31)).toEqual(["0: variant 0 on 3,4,5"]);
  });

  test("chooses the next batch before the worker is free, and keeps a reserve", () => {
    const driver = driverOf(10);
    driver.arrive(0, 0);
    expect(driver.arrive(1, 1)).toEqual([]);
    expect(driver.dispatcher.wakeMs).toBe(5);
    expect(driver.wake()).toEqual([]);
    driver.arrive(2, 6);
    expect(driver.done(0, 15)).toEqual(["0: variant 0 on 1"]);
    expect(driver.dispatcher.wakeMs).toBe(20);
    // Done at 35 by then, in time for 39 but not for 5 ms less.
    driver.wake();
    driver.arrive(3, 21, 49);
    expect(driver.done(0, 30)).toEqual(["0: variant 0 on 2"]);
    expect(driver.dispatcher.wakeMs).toBe(35);
    expect(driver.wake()).toEqual(["drops 3"]);
  });

  test("believes the slowest of the last runs", () => {
    const driver = driverOf(0);
    driver.arrive(0, 0);
    driver.done(0, 50);
    // One query took 50 ms, so 45 are not enough for the next, until ten more have been seen.
    expect(driver.arrive(1, 50, 95)).toEqual(["drops 1"]);
    for (let query = 2; query < 12; query++) {
      expect(driver.arrive(query, 100 * query)).toEqual([`0: variant 0 on ${query}`]);
      driver.done(0, 100 * query + 15);
    }
    expect(driver.arrive(12, 1300, 1345)).toEqual(["0: variant 0 on 12"]);
  });
});

describe("Nexus", () => {
  test("deals queries in turn and slides a window over what waits for a worker", () => {
    const cluster = tinyCluster({ workers: 2 });
    const driver = new PeerDriver(cluster, settingWith(nexus, cluster, { variant: "small" }));
    expect(driver.arrive(0, 0)).toEqual(["0: variant 0 on 0"]);
    expect(driver.arrive(1, 0)).toEqual(["1: variant 0 on 1"]);
    driver.arrive(2, 1, 39);
    driver.arrive(3, 1);
    driver.arrive(4, 2, 39);
    driver.arrive(5, 2);
    driver.arrive(6, 3);
    // Three take until 40: the first two go, and the last one is alone.
    expect(driver.done(0, 15)).toEqual(["drops 2", "0: variant 0 on 4,6"]);
    expect(driver.done(1, 16)).toEqual(["1: variant 0 on 3,5"]);
  });

  test("fixes the batch at what takes half the SLO", () => {
    const cluster = tinyCluster({ sloMs: 45 }, 30);
    const { parameters } = nexus.paper(cluster);
    expect(parameters).toEqual({ variant: "small", batch: 2 });
  });
});
