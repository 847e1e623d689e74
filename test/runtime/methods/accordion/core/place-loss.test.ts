import { describe, expect, test } from "vitest";
import {
  AccordionCommands,
  RESHAPE,
  START,
} from "../../../../../runtime/methods/accordion/core/commands.ts";
import { AccordionScheduler } from "../../../../../runtime/methods/accordion/core/scheduler.ts";
import { CHAIN, chainPlaces } from "../../../../support/accordion-chain.ts";
import { AccordionDriver } from "../../../../support/accordion-driver.ts";

describe("a query that loses a place", () => {
  test("goes on with those it has left, where it was", () => {
    const driver = new AccordionDriver(chainPlaces(5)).start();
    driver.ask({ batch: 4 });
    driver.passTo(40);
    driver.lose(1);
    driver.settle();
    // Three instances of 40 ms from 45 on.
    expect(driver.news()).toEqual([
      "0 start 0 [0,1,2,3]",
      "40 reshape 0 [0,2,3] from 1",
      "165 done 0",
    ]);
  });

  test("grows again where it may", () => {
    const driver = new AccordionDriver(chainPlaces(5, { policy: { regrow: true } })).start();
    driver.ask({ batch: 4 });
    driver.passTo(40);
    driver.lose(1);
    driver.settle();
    expect(driver.news().slice(1)).toEqual([
      "40 reshape 0 [0,2,3] from 1",
      "40 reshape 0 [0,2,3,4] from 1",
      "135 done 0",
    ]);
  });

  test("is given up with the second one, and what it has left is free", () => {
    const driver = new AccordionDriver(chainPlaces(4)).start();
    driver.ask({ batch: 4, dueInMs: 130 });
    driver.lose(1);
    driver.ask();
    driver.news();
    driver.lose(0);
    expect(driver.news()).toEqual(["0 drop 0 places-lost", "0 start 1 [2,3]"]);
  });

  test("waits again if it was the only one, before all others of its priority", () => {
    const driver = new AccordionDriver(chainPlaces(2, { maxDepth: 1 })).start();
    for (let n = 0; n < 3; n++) driver.ask({ batch: 2 });
    driver.ask({ isHigh: false });
    driver.passTo(130);
    driver.lose(0);
    driver.settle();
    expect(driver.news()).toEqual([
      "0 start 0 [0]",
      "0 start 1 [1]",
      "240 done 1",
      // One instance was done.
      "240 start 0 [1] from 1",
      "360 done 0",
      "360 start 2 [1]",
      "600 done 2",
      "600 start 3 [1]",
      "720 done 3",
    ]);
  });

  test("starts again at once if it is first and a place is free", () => {
    const driver = new AccordionDriver(chainPlaces(2, { maxDepth: 1 })).start();
    driver.ask();
    driver.lose(0);
    expect(driver.news()).toEqual(["0 start 0 [0]", "0 start 0 [1]"]);
  });

  test("with low priority waits behind those of high priority all the same", () => {
    const driver = new AccordionDriver(chainPlaces(2, { maxDepth: 1 })).start();
    driver.ask({ isHigh: false });
    for (let n = 0; n < 2; n++) driver.ask();
    driver.lose(0);
    driver.settle();
    expect(driver.log.filter((line) => line.includes("start"))).toEqual([
      "0 start 0 [0]",
      "0 start 1 [1]",
      "120 start 2 [1]",
      "240 start 0 [1]",
    ]);
  });
});

describe("places", () => {
  test("with the last one everything is given up, also what comes then", () => {
    const driver = new AccordionDriver(chainPlaces(2, { maxDepth: 1 })).start();
    for (let n = 0; n < 3; n++) driver.ask();
    driver.news();
    driver.lose(0);
    expect(driver.news()).toEqual([]);
    driver.lose(1);
    expect(driver.news()).toEqual(["0 drop 1 no-place", "0 drop 0 no-place", "0 drop 2 no-place"]);
    driver.ask();
    expect(driver.news()).toEqual(["0 drop 3 no-place"]);
  });

  test("that come back serve as before", () => {
    const driver = new AccordionDriver(chainPlaces(2)).start();
    driver.ask();
    driver.lose(0);
    driver.lose(1);
    driver.start();
    driver.news();
    driver.ask();
    driver.settle();
    expect(driver.news()).toEqual(["0 start 1 [0,1]", "60 done 1"]);
  });

  test("that are free and lost are missed by nobody", () => {
    const driver = new AccordionDriver(chainPlaces(6)).start();
    driver.ask();
    driver.lose(5);
    driver.ask();
    expect(driver.news()).toEqual(["0 start 0 [0,1,2,3]", "0 start 1 [4]"]);
  });

  test("that are lost make hopeless earlier who counted with them", () => {
    const models = [CHAIN, { name: "two", layerMs: [60, 60] }];
    const driver = new AccordionDriver(chainPlaces(5, { models })).start();
    driver.ask({ model: 1, dueInMs: 60 });
    // It would take four of the five places: 30 ms.
    driver.ask({ dueInMs: 35 });
    expect(driver.scheduler.wakeMs).toBe(5);
    driver.lose(4);
    expect(driver.scheduler.wakeMs).toBe(5);
    driver.lose(3);
    expect(driver.news()).toEqual(["0 start 0 [0,1]", "0 start 1 [2]"]);
  });
});

describe("a place that is replaced at once", () => {
  const ASKED = { model: 0, batch: 2, isHigh: true, deadlineMs: 1e6 };

  /** Places that are up, and queries that were asked for. */
  function asked(places: number, queries: number) {
    const commands = new AccordionCommands();
    const bundle = chainPlaces(places, { maxDepth: places });
    const scheduler = new AccordionScheduler(bundle, { queryCapacity: 8 });
    for (let place = 0; place < places; place++) scheduler.onPlaceReady(place, 0, commands);
    for (let query = 0; query < queries; query++) scheduler.onQuery(query, ASKED, 0, commands);
    commands.clear();
    return { scheduler, commands };
  }

  test("is the only one: who ran begins again on it, and nobody is given up", () => {
    const { scheduler, commands } = asked(1, 3);
    scheduler.onInstanceDone(0, 100, commands);
    scheduler.onPlaceReplaced(0, 110, commands);
    expect(commands.count).toBe(1);
    expect([commands.kind(0), commands.query(0), commands.resumeAt(0)]).toEqual([START, 0, 1]);
    expect([scheduler.activeCount, scheduler.waitingCount]).toEqual([1, 2]);
  });

  test("is one of several: who ran goes on with the others, and the next one has it", () => {
    const { scheduler, commands } = asked(2, 1);
    scheduler.onPlaceReplaced(1, 10, commands);
    expect([commands.count, commands.kind(0), commands.query(0)]).toEqual([1, RESHAPE, 0]);
    expect(commands.placeCount(0)).toBe(1);
    scheduler.onQuery(1, ASKED, 20, commands);
    expect([commands.kind(1), commands.place(1, 0)]).toEqual([START, 1]);
  });
});
