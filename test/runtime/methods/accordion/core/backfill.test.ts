import { describe, expect, test } from "vitest";
import { chainPlaces } from "../../../../support/accordion-chain.ts";
import { AccordionDriver, type Asked } from "../../../../support/accordion-driver.ts";

/** Place 4 is free; nobody can do with fewer, and the first that waits needs four. */
function blocked(first: Asked = {}): AccordionDriver {
  const policy = { backfill: true };
  const driver = new AccordionDriver(chainPlaces(5, { policy }), { queryCapacity: 100 }).start();
  driver.ask({ batch: 4, dueInMs: 125 });
  driver.passTo(10);
  driver.ask({ dueInMs: 35, ...first });
  driver.news();
  return driver;
}

describe("a query behind one that has to wait", () => {
  test("passes it if the free places are enough for it", () => {
    const driver = blocked();
    driver.ask({ dueInMs: 120 });
    driver.settle();
    expect(driver.news()).toEqual([
      "10 start 2 [4]",
      "120 done 0",
      "120 start 1 [0,1,2,3]",
      "130 done 2",
      "150 done 1",
    ]);
  });

  test("takes as few places as are enough", () => {
    const policy = { backfill: true };
    const driver = new AccordionDriver(chainPlaces(7, { policy })).start();
    driver.ask({ batch: 4, dueInMs: 125 });
    driver.passTo(10);
    driver.ask({ dueInMs: 35 });
    driver.ask({ dueInMs: 65 });
    expect(driver.news().slice(1)).toEqual(["10 start 2 [4,5]"]);
  });

  test("waits if they are not enough, or it is late", () => {
    const driver = blocked();
    driver.ask({ dueInMs: 119 });
    driver.ask({ dueInMs: 29 });
    expect(driver.news()).toEqual([]);
  });

  test("does not pass one of another priority", () => {
    const driver = blocked();
    driver.ask({ isHigh: false });
    expect(driver.news()).toEqual([]);
    const low = blocked({ isHigh: false });
    low.ask({ isHigh: false });
    expect(low.news()).toEqual(["10 start 2 [4]"]);
  });

  test("is one of the first 64", () => {
    for (const between of [63, 64]) {
      const driver = blocked();
      for (let n = 0; n < between; n++) driver.ask({ dueInMs: 35 });
      driver.ask();
      expect(driver.news().length).toBe(between === 63 ? 1 : 0);
    }
  });

  test("passes nobody unless the policy says so", () => {
    const driver = new AccordionDriver(chainPlaces(5)).start();
    driver.ask({ batch: 4, dueInMs: 125 });
    driver.passTo(10);
    driver.ask({ dueInMs: 35 });
    driver.ask({ dueInMs: 120 });
    expect(driver.news().length).toBe(1);
  });
});
