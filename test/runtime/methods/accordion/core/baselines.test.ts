import { describe, expect, test } from "vitest";
import type { SchedulerName } from "../../../../../runtime/bundle/schema.ts";
import { CHAIN, chainPlaces } from "../../../../support/accordion-chain.ts";
import { AccordionDriver } from "../../../../support/accordion-driver.ts";

/** Three models alike. */
function driverOf(scheduler: SchedulerName, places: number, sloMs = 65): AccordionDriver {
  const models = ["a", "b", "c"].map((name) => ({ ...CHAIN, name }));
  return new AccordionDriver(chainPlaces(places, { models, sloMs, policy: { scheduler } })).start();
}

describe("SLO-Conforming", () => {
  test("has the fewest places that meet the SLO, and waits for them", () => {
    const driver = driverOf("slo-conforming", 5);
    for (let n = 0; n < 3; n++) driver.ask();
    driver.settle();
    expect(driver.news()).toEqual([
      "0 start 0 [0,1]",
      "0 start 1 [2,3]",
      "60 done 0",
      "60 start 2 [0,1]",
      "60 done 1",
      "120 done 2",
    ]);
  });

  test("goes by the SLO, not by what is left of it, and by the instances", () => {
    const driver = driverOf("slo-conforming", 8);
    driver.ask({ dueInMs: 31 });
    driver.ask({ dueInMs: 500 });
    driver.ask({ batch: 2 });
    expect(driver.news()).toEqual(["0 start 0 [0,1]", "0 start 1 [2,3]", "0 start 2 [4,5,6,7]"]);
  });

  test("is fastest where nothing meets the SLO", () => {
    const driver = driverOf("slo-conforming", 8, 20);
    driver.ask();
    expect(driver.news()).toEqual(["0 start 0 [0,1,2,3]"]);
  });
});

test("Fastest waits for the places that make it so", () => {
  const driver = driverOf("fastest", 7);
  driver.ask();
  driver.ask({ dueInMs: 1000 });
  driver.settle();
  expect(driver.news()).toEqual([
    "0 start 0 [0,1,2,3]",
    "30 done 0",
    "30 start 1 [0,1,2,3]",
    "60 done 1",
  ]);
});

test("1-Stage has one place for everyone", () => {
  const driver = driverOf("one-stage", 2);
  for (let n = 0; n < 3; n++) driver.ask({ batch: 2 });
  driver.settle();
  expect(driver.news().filter((line) => line.includes("start"))).toEqual([
    "0 start 0 [0]",
    "0 start 1 [1]",
    "240 start 2 [0]",
  ]);
});

describe("BBS", () => {
  test("buffers behind a query of the same model, whose places it gets before others", () => {
    const driver = driverOf("bbs", 4);
    driver.ask({ model: 0 });
    driver.ask({ model: 1 });
    driver.ask({ model: 2 });
    driver.ask({ model: 0 });
    expect(driver.scheduler.waitingCount).toBe(2);
    driver.settle();
    expect(driver.news()).toEqual([
      "0 start 0 [0,1]",
      "0 start 1 [2,3]",
      "60 done 0",
      "60 start 3 [0,1]",
      "60 done 1",
      "60 start 2 [2,3]",
      "120 done 2",
      "120 done 3",
    ]);
  });

  test("takes free places first", () => {
    const driver = driverOf("bbs", 4);
    driver.ask();
    driver.ask();
    expect(driver.news()).toEqual(["0 start 0 [0,1]", "0 start 1 [2,3]"]);
  });

  test("buffers where the places are free first, all counted that is buffered there", () => {
    const driver = driverOf("bbs", 6);
    driver.ask();
    driver.passTo(10);
    driver.ask({ batch: 2 });
    driver.passTo(20);
    // Free at 60 and 70; then, after the first of these, at 120 and 70.
    driver.ask();
    driver.ask();
    driver.settle();
    expect(driver.news()).toEqual([
      "0 start 0 [0,1]",
      "10 start 1 [2,3,4,5]",
      "60 done 0",
      "60 start 2 [0,1]",
      "70 done 1",
      "70 start 3 [2,3,4,5]",
      "100 done 3",
      "120 done 2",
    ]);
  });

  test("of equal places buffers behind the first, and counts no more what is cancelled", () => {
    const driver = driverOf("bbs", 4);
    driver.ask();
    driver.passTo(50);
    driver.ask();
    // Free at 60 and 110; then at 120 and 110; then at 120 and 170.
    driver.ask();
    driver.ask();
    const cancelled = driver.ask();
    driver.cancel(cancelled);
    driver.ask();
    driver.settle();
    expect(driver.news().filter((line) => line.includes("start"))).toEqual([
      "0 start 0 [0,1]",
      "50 start 1 [2,3]",
      "60 start 2 [0,1]",
      "110 start 3 [2,3]",
      "120 start 5 [0,1]",
    ]);
    driver.ask();
    driver.ask();
    driver.ask();
    driver.settle();
    expect(driver.log.filter((line) => line.includes("start 8"))).toEqual(["240 start 8 [0,1]"]);
  });

  test("of what is buffered, those of high priority come first", () => {
    const driver = driverOf("bbs", 2);
    driver.ask();
    for (const isHigh of [false, true, false, true]) driver.ask({ isHigh });
    driver.settle();
    const starts = driver.log.filter((line) => line.includes("start"));
    expect(starts.map((line) => Number(line.split(" ")[2]))).toEqual([0, 2, 4, 1, 3]);
  });

  test("the places of a query that is cancelled go to who is buffered for them", () => {
    const driver = driverOf("bbs", 2);
    const running = driver.ask();
    driver.ask();
    const third = driver.ask();
    driver.passTo(10);
    driver.cancel(running);
    driver.cancel(third);
    driver.settle();
    expect(driver.news()).toEqual([
      "0 start 0 [0,1]",
      "10 cancel 0",
      "10 start 1 [0,1]",
      "10 cancel 2",
      "70 done 1",
    ]);
  });

  test("what is buffered for places of which one is lost waits with the others", () => {
    const driver = driverOf("bbs", 4);
    driver.ask({ model: 0 });
    driver.ask({ model: 1 });
    driver.ask({ model: 0 });
    driver.passTo(10);
    driver.lose(0);
    driver.settle();
    expect(driver.news().slice(2)).toEqual([
      "10 reshape 0 [1]",
      "60 done 1",
      "60 start 2 [2,3]",
      "120 done 2",
      "135 done 0",
    ]);
  });
});
