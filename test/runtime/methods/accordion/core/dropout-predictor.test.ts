import { describe, expect, test } from "vitest";
import type { AccordionOptions } from "../../../../../runtime/bundle/schema.ts";
import { chainPlaces } from "../../../../support/accordion-chain.ts";
import { AccordionDriver } from "../../../../support/accordion-driver.ts";

const HIGH = { isHigh: true };
const LOW = { isHigh: false };

function driverOf(
  places: number,
  sloMs: number,
  policy: Partial<AccordionOptions>,
): AccordionDriver {
  return new AccordionDriver(chainPlaces(places, { sloMs, policy })).start();
}

describe("a query of low priority", () => {
  test("is given up if it would be too late behind all that came before it", () => {
    // One place each, 120 ms: two run till 120, two more till 240, which is just the window.
    const driver = driverOf(2, 120, { scheduler: "one-stage", dropAfterSlos: 2 });
    for (let n = 0; n < 4; n++) driver.ask(LOW);
    expect(driver.news()).toEqual(["0 start 0 [0]", "0 start 1 [1]"]);
    driver.ask(LOW);
    expect(driver.news()).toEqual(["0 drop 4 late"]);
  });

  test("counts those of high priority as well, which are never given up", () => {
    const driver = driverOf(2, 120, { scheduler: "one-stage", dropAfterSlos: 2 });
    for (let n = 0; n < 3; n++) driver.ask(HIGH);
    driver.ask(HIGH);
    driver.ask(HIGH);
    driver.ask(LOW);
    driver.settle();
    expect(driver.log.filter((line) => line.includes("drop"))).toEqual(["0 drop 5 late"]);
    expect(driver.log.at(-1)).toBe("360 done 4");
  });

  test("one that is given up is not counted", () => {
    const driver = driverOf(1, 120, { scheduler: "one-stage", dropAfterSlos: 2 });
    driver.ask({ ...LOW, batch: 1 });
    // It would be done at 360; without it another one at 240.
    driver.ask({ ...LOW, batch: 2 });
    driver.ask({ ...LOW, batch: 1 });
    expect(driver.news()).toEqual(["0 start 0 [0]", "0 drop 1 late"]);
    expect(driver.scheduler.waitingCount).toBe(1);
  });

  test("time that passes is counted off, and the window begins when the query comes", () => {
    const driver = driverOf(1, 120, { scheduler: "one-stage", dropAfterSlos: 2 });
    driver.ask(LOW);
    driver.ask(LOW);
    driver.passTo(119);
    driver.ask(LOW);
    // Foretold are 240 + 120.
    driver.passTo(119.5);
    driver.ask(LOW);
    expect(driver.news().slice(1)).toEqual(["119 drop 2 late", "119.5 drop 3 late"]);
    driver.passTo(120);
    driver.ask(LOW);
    driver.settle();
    expect([...driver.ends.values()]).toEqual(["drop", "drop", "done", "done", "done"]);
  });

  test("takes the earliest places, and waits for the last of those it needs", () => {
    // In 65 ms one instance takes 2 of the 3 places.
    const driver = driverOf(3, 65, { scheduler: "slo-conforming", dropAfterSlos: 2 });
    driver.ask(HIGH);
    // Places 0 and 1 till 60, the third is free: the next two from 60 to 120.
    driver.ask(LOW);
    // Now 120, 60, 120 or the like: from 120 to 180 is too late.
    driver.ask(LOW);
    expect(driver.news()).toEqual(["0 start 0 [0,1]", "0 drop 2 late"]);
  });

  test("is foretold the fewest places that meet its deadline from running ones", () => {
    const driver = driverOf(4, 65, { dropAfterSlos: 1 });
    driver.ask(LOW);
    // 30 ms till the places are free, 60 on two of them, though the first could shrink.
    driver.ask(LOW);
    // Due in 35 ms it is foretold four places, and 30 + 30: nobody waits for it by then.
    driver.ask({ ...LOW, dueInMs: 35 });
    expect(driver.news()).toEqual(["0 start 0 [0,1,2,3]", "0 drop 1 late", "0 drop 2 late"]);
  });

  test("without a deadline that can be met, the most places", () => {
    const driver = driverOf(4, 100, { dropAfterSlos: 100 });
    driver.ask({ ...LOW, batch: 3, dueInMs: 1 });
    driver.ask({ ...LOW, batch: 4, dueInMs: 1 });
    expect(driver.news()).toEqual(["0 start 0 [0,1,2,3]", "0 drop 1 late"]);
  });

  test("is never given up if the policy says so", () => {
    const driver = driverOf(1, 10, { dropAfterSlos: null });
    for (let n = 0; n < 20; n++) driver.ask(LOW);
    driver.settle();
    expect([...driver.ends.values()]).toEqual(new Array(20).fill("done"));
  });

  test("counts with places that are up only", () => {
    const driver = driverOf(2, 120, { scheduler: "one-stage", dropAfterSlos: 2 });
    driver.lose(0);
    for (let n = 0; n < 3; n++) driver.ask(LOW);
    expect(driver.news()).toEqual(["0 start 0 [1]", "0 drop 2 late"]);
  });

  test("begins anew once nothing waits", () => {
    const driver = driverOf(1, 120, { scheduler: "one-stage", dropAfterSlos: 2 });
    driver.ask(LOW);
    const waiting = driver.ask(LOW);
    driver.cancel(waiting);
    driver.ask(LOW);
    expect(driver.news()).toEqual(["0 start 0 [0]", "0 cancel 1"]);
    expect(driver.scheduler.waitingCount).toBe(1);
  });

  test("is taken if it is late by what a sum is rounded to", () => {
    // 0.1 + 0.1 + 0.1 is 4e-17 more than 0.3.
    const models = [{ name: "m", wholeMs: 0.1 }];
    const policy = { scheduler: "one-stage", dropAfterSlos: 1 } as const;
    const driver = new AccordionDriver(chainPlaces(1, { models, sloMs: 0.3, policy })).start();
    for (let n = 0; n < 4; n++) driver.ask(LOW);
    expect(driver.news()).toEqual(["0 start 0 [0]", "0 drop 3 late"]);
  });
});
