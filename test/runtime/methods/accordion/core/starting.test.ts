import { describe, expect, test } from "vitest";
import { accordionBundle } from "../../../../support/accordion-bundle.ts";
import { CHAIN, chainPlaces } from "../../../../support/accordion-chain.ts";
import { AccordionDriver } from "../../../../support/accordion-driver.ts";

describe("a query", () => {
  test("starts on as many free places as help it", () => {
    const driver = new AccordionDriver(chainPlaces(7)).start();
    driver.ask();
    driver.ask();
    driver.settle();
    expect(driver.news()).toEqual([
      "0 start 0 [0,1,2,3]",
      "0 start 1 [4,5,6]",
      "30 done 0",
      "40 done 1",
    ]);
  });

  test("takes no place that does not help", () => {
    // One instance takes 120 ms through any pipeline, the second comes a step later.
    const driver = new AccordionDriver(chainPlaces(8, { timing: "pipelined" })).start();
    driver.ask({ batch: 1 });
    driver.ask({ batch: 2 });
    driver.settle();
    expect(driver.news()).toEqual([
      "0 start 0 [0]",
      "0 start 1 [1,2,3,4]",
      "120 done 0",
      "150 done 1",
    ]);
  });

  test("starts on fewer places than would be best if they are enough", () => {
    const driver = new AccordionDriver(chainPlaces(5)).start();
    driver.ask({ batch: 8, dueInMs: 245 });
    driver.ask({ dueInMs: 120 });
    expect(driver.news()).toEqual(["0 start 0 [0,1,2,3]", "0 start 1 [4]"]);
  });

  test("has the place of the right pool for every stage", () => {
    const pools = [{ workers: 1 }, { workers: 1, speed: 2 }];
    const models = [{ name: "a", layerMs: [20, 10, 10] }];
    const driver = new AccordionDriver(accordionBundle({ models, pools, timing: "paper" })).start();
    driver.ask();
    expect(driver.news()).toEqual(["0 start 0 [1,0]"]);
  });

  test("does without a pool whose places are down", () => {
    const pools = [{ workers: 2, speed: 4 }, { workers: 2 }];
    const driver = new AccordionDriver(chainPlaces(0, { pools }));
    driver.comeUp(2);
    driver.comeUp(3);
    // Two slow places take 60 ms: too late from the start.
    driver.ask({ dueInMs: 50 });
    expect(driver.news()).toEqual(["0 start 0 [2,3]"]);
  });
});

describe("a query that can be on time no more", () => {
  /** Place 4 is free, and the query on the others cannot do with fewer. */
  function tight(): AccordionDriver {
    const driver = new AccordionDriver(chainPlaces(5)).start();
    driver.ask({ batch: 4, dueInMs: 125 });
    driver.passTo(10);
    driver.news();
    return driver;
  }

  test("starts with what is free at the moment when the most places would not do", () => {
    const driver = tight();
    driver.ask({ dueInMs: 35 });
    // Due at 45, on four places it takes 30.
    expect([driver.news(), driver.scheduler.wakeMs]).toEqual([[], 15]);
    driver.settle();
    expect(driver.news()).toEqual(["15 start 1 [4]", "120 done 0", "135 done 1"]);
  });

  test("starts at once if it is so when it comes, also past its deadline", () => {
    for (const dueInMs of [30, 29, 0, -100]) {
      const driver = tight();
      driver.ask({ dueInMs });
      expect([driver.news(), driver.scheduler.wakeMs]).toEqual([
        ["10 start 1 [4]"],
        Number.POSITIVE_INFINITY,
      ]);
    }
  });

  test("waits for a place if none is free, and is not woken for nothing", () => {
    const driver = new AccordionDriver(chainPlaces(4)).start();
    driver.ask({ batch: 4, dueInMs: 125 });
    driver.ask({ dueInMs: 35 });
    expect(driver.scheduler.wakeMs).toBe(Number.POSITIVE_INFINITY);
    driver.settle();
    expect(driver.news().slice(1)).toEqual(["120 done 0", "120 start 1 [0,1,2,3]", "150 done 1"]);
  });

  test("starts earlier if enough places are free before", () => {
    const driver = tight();
    driver.finishInstance(0);
    driver.ask({ dueInMs: 100 });
    for (let n = 0; n < 3; n++) driver.finishInstance(0);
    expect(driver.news()).toEqual(["10 done 0", "10 start 1 [0,1,2,3]"]);
  });

  test("a wake that comes too early or too often does nothing", () => {
    const driver = tight();
    driver.ask({ dueInMs: 35 });
    driver.wake();
    driver.passTo(14.9);
    driver.wake();
    expect([driver.news(), driver.scheduler.wakeMs]).toEqual([[], 15]);
    driver.passTo(15);
    driver.wake();
    expect(driver.news()).toEqual(["15 start 1 [4]"]);
  });

  test("nobody passes who is first, even if a place is free for others", () => {
    const driver = tight();
    driver.ask({ dueInMs: 35 });
    driver.ask({ dueInMs: 1000 });
    driver.settle();
    expect(driver.news()).toEqual([
      "15 start 1 [4]",
      "120 done 0",
      "120 start 2 [0,1,2,3]",
      "135 done 1",
      "150 done 2",
    ]);
  });

  test("once cancelled, who is next has its turn", () => {
    const driver = tight();
    const first = driver.ask({ dueInMs: 35 });
    driver.ask({ dueInMs: 1000 });
    driver.cancel(first);
    expect(driver.news()).toEqual(["10 cancel 1", "10 start 2 [4]"]);
  });
});

describe("queries that wait", () => {
  test("start in the order in which they came, all of high priority first", () => {
    const driver = new AccordionDriver(chainPlaces(1)).start();
    for (const isHigh of [true, false, true, false, true]) driver.ask({ isHigh, dueInMs: 10_000 });
    driver.settle();
    const starts = driver.log.filter((line) => line.includes("start"));
    expect(starts).toEqual([
      "0 start 0 [0]",
      "120 start 2 [0]",
      "240 start 4 [0]",
      "360 start 1 [0]",
      "480 start 3 [0]",
    ]);
  });

  test("get the places of a running query that is cancelled", () => {
    const driver = new AccordionDriver(chainPlaces(1)).start();
    const running = driver.ask();
    driver.ask();
    driver.passTo(50);
    driver.news();
    driver.cancel(running);
    driver.settle();
    expect(driver.news()).toEqual(["50 cancel 0", "50 start 1 [0]", "170 done 1"]);
  });

  test("give a name to others once they are over, and not before", () => {
    const driver = new AccordionDriver(chainPlaces(4), { queryCapacity: 1 }).start();
    for (let n = 0; n < 3; n++) {
      driver.ask({ batch: 1 + n });
      driver.settle();
    }
    expect([...driver.ends.values()]).toEqual(["done", "done", "done"]);
    driver.ask();
    const out = { model: 0, batch: 1, isHigh: true, deadlineMs: 0 };
    expect(() => driver.scheduler.onQuery(0, out, driver.nowMs, driver.commands)).toThrow(
      /is free/,
    );
  });

  test("have at least one instance and at most as many as the table has", () => {
    for (const batch of [0, 9]) {
      const driver = new AccordionDriver(chainPlaces(4)).start();
      expect(() => driver.ask({ batch })).toThrow(/1 to maxBatch/);
    }
  });

  test("models do not get into each other's way", () => {
    const models = [CHAIN, { name: "one", layerMs: [50] }];
    const driver = new AccordionDriver(chainPlaces(6, { models })).start();
    driver.ask({ model: 1, batch: 2 });
    driver.ask({ model: 0 });
    driver.ask({ model: 1 });
    driver.settle();
    expect(driver.news()).toEqual([
      "0 start 0 [0]",
      "0 start 1 [1,2,3,4]",
      "0 start 2 [5]",
      "30 done 1",
      "50 done 2",
      "100 done 0",
    ]);
  });
});
