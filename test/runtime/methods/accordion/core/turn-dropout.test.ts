import { describe, expect, test } from "vitest";
import type { AccordionOptions } from "../../../../../runtime/bundle/schema.ts";
import { CHAIN, chainPlaces } from "../../../../support/accordion-chain.ts";
import { AccordionDriver } from "../../../../support/accordion-driver.ts";

const LOW = { isHigh: false };

/** A second model takes 80 ms anywhere. */
function driverOf(
  places: number,
  sloMs: number,
  policy: Partial<AccordionOptions> = {},
): AccordionDriver {
  const models = [CHAIN, { name: "one", layerMs: [80] }];
  const turn = { dropout: "turn", dropAfterSlos: 1, ...policy } as const;
  return new AccordionDriver(chainPlaces(places, { models, sloMs, policy: turn })).start();
}

describe("a query of low priority, where it counts what waiting has cost,", () => {
  test("is taken whatever is before it, and given up when it is certain to be too late", () => {
    const driver = driverOf(1, 200);
    driver.ask({ batch: 2 });
    driver.ask(LOW);
    // 120 ms before 200, though no place is free then.
    expect(driver.scheduler.wakeMs).toBe(80);
    driver.settle();
    expect(driver.news()).toEqual(["0 start 0 [0]", "80 drop 1 late", "240 done 0"]);
  });

  test("starts if its turn comes in the last moment", () => {
    const driver = driverOf(1, 200);
    driver.ask({ model: 1 });
    driver.ask(LOW);
    driver.settle();
    expect(driver.news().slice(1)).toEqual(["80 done 0", "80 start 1 [0]", "200 done 1"]);
  });

  test("counts on the most places that are up", () => {
    const driver = driverOf(4, 200);
    driver.ask({ batch: 8, dueInMs: 241 });
    driver.ask({ ...LOW, dueInMs: 1000 });
    expect(driver.scheduler.wakeMs).toBe(170);
    driver.lose(0);
    expect(driver.scheduler.wakeMs).toBe(160);
  });

  test("is told even while those of high priority keep it from its turn", () => {
    const driver = driverOf(1, 200);
    for (const isHigh of [true, false, true]) driver.ask({ isHigh, dueInMs: 1000 });
    driver.settle();
    expect(driver.news()).toEqual([
      "0 start 0 [0]",
      "80 drop 1 late",
      "120 done 0",
      "120 start 2 [0]",
      "240 done 2",
    ]);
  });

  test("is given up when it comes if it can never be in time", () => {
    const driver = driverOf(4, 20);
    driver.ask({ ...LOW, dueInMs: 1000 });
    driver.ask({ dueInMs: 1000 });
    expect(driver.news()).toEqual(["0 drop 0 late", "0 start 1 [0,1,2,3]"]);
  });

  test("counts with the depth of its method", () => {
    const driver = driverOf(4, 200, { scheduler: "one-stage" });
    for (let n = 0; n < 4; n++) driver.ask({ batch: 2 });
    driver.ask(LOW);
    expect(driver.scheduler.wakeMs).toBe(80);
  });

  test("makes way for who is behind it, at once", () => {
    const models = [CHAIN, { name: "one", layerMs: [50] }];
    const policy = { scheduler: "fastest", dropout: "turn", dropAfterSlos: 1 } as const;
    const driver = new AccordionDriver(chainPlaces(5, { models, sloMs: 100, policy })).start();
    driver.ask({ batch: 4 });
    // For four places, till 70.
    driver.ask({ isHigh: false });
    driver.passTo(40);
    // For one, as is free, till 90.
    driver.ask({ isHigh: false, model: 1 });
    driver.passTo(110);
    expect(driver.news()).toEqual(["0 start 0 [0,1,2,3]", "70 drop 1 late", "70 start 2 [4]"]);
  });

  test("of BBS is given up in its turn", () => {
    const driver = driverOf(2, 65, { scheduler: "bbs" });
    driver.ask();
    driver.ask(LOW);
    driver.ask();
    driver.settle();
    expect(driver.news()).toEqual([
      "0 start 0 [0,1]",
      "60 done 0",
      "60 start 2 [0,1]",
      "120 done 2",
      "120 drop 1 late",
    ]);
  });
});
