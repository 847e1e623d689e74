import { describe, expect, test } from "vitest";
import { CHAIN, chainPlaces } from "../../../support/chain-places.ts";
import { PlaceDriver } from "../../../support/place-driver.ts";

describe("a query that loses a place", () => {
  test("goes on with those it has left, where it was", () => {
    const driver = new PlaceDriver(chainPlaces(5)).start();
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
    const driver = new PlaceDriver(chainPlaces(5, { policy: { regrow: true } })).start();
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
    const driver = new PlaceDriver(chainPlaces(4)).start();
    driver.ask({ batch: 4, dueInMs: 130 });
    driver.lose(1);
    driver.ask();
    driver.news();
    driver.lose(0);
    expect(driver.news()).toEqual(["0 drop 0 places-lost", "0 start 1 [2,3]"]);
  });

  test("waits again if it was the only one, before all others of its priority", () => {
    const driver = new PlaceDriver(chainPlaces(2, { maxDepth: 1 })).start();
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
    const driver = new PlaceDriver(chainPlaces(2, { maxDepth: 1 })).start();
    driver.ask();
    driver.lose(0);
    expect(driver.news()).toEqual(["0 start 0 [0]", "0 start 0 [1]"]);
  });

  test("with low priority waits behind those of high priority all the same", () => {
    const driver = new PlaceDriver(chainPlaces(2, { maxDepth: 1 })).start();
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
    const driver = new PlaceDriver(chainPlaces(2, { maxDepth: 1 })).start();
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
    const driver = new PlaceDriver(chainPlaces(2)).start();
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
    const driver = new PlaceDriver(chainPlaces(6)).start();
    driver.ask();
    driver.lose(5);
    driver.ask();
    expect(driver.news()).toEqual(["0 start 0 [0,1,2,3]", "0 start 1 [4]"]);
  });

  test("that are lost make hopeless earlier who counted with them", () => {
    const models = [CHAIN, { name: "two", layerMs: [60, 60] }];
    const driver = new PlaceDriver(chainPlaces(5, { models })).start();
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
