import { describe, expect, test } from "vitest";
import { chainPlaces } from "../../../../support/accordion-chain.ts";
import { AccordionDriver, type Asked } from "../../../../support/accordion-driver.ts";

const LOW = { isHigh: false };

/**
 * Place 4 is free; nobody can do with fewer, and the first that waits needs four, and is too late
 * when there are four.
 */
function blocked(first: Asked = LOW): AccordionDriver {
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
    driver.ask({ ...LOW, dueInMs: 120 });
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
    driver.ask({ ...LOW, dueInMs: 35 });
    driver.ask({ ...LOW, dueInMs: 65 });
    expect(driver.news().slice(1)).toEqual(["10 start 2 [4,5]"]);
  });

  test("waits if they are not enough, or it is late", () => {
    const driver = blocked();
    driver.ask({ ...LOW, dueInMs: 119 });
    driver.ask({ ...LOW, dueInMs: 29 });
    expect(driver.news()).toEqual([]);
  });

  test("does not pass one of another priority", () => {
    const driver = blocked({ isHigh: true });
    driver.ask(LOW);
    expect(driver.news()).toEqual([]);
    const low = blocked();
    low.ask(LOW);
    expect(low.news()).toEqual(["10 start 2 [4]"]);
  });

  test("does not pass one of high priority that is foretold to be late and may be helped", () => {
    const driver = blocked({ isHigh: true });
    driver.ask();
    expect(driver.news()).toEqual([]);
  });

  test("is one of the first 64", () => {
    for (const between of [63, 64]) {
      const driver = blocked();
      for (let n = 0; n < between; n++) driver.ask({ ...LOW, dueInMs: 35 });
      driver.ask(LOW);
      expect(driver.news().length).toBe(between === 63 ? 1 : 0);
    }
  });

  test("passes nobody unless the policy says so", () => {
    const driver = new AccordionDriver(chainPlaces(5)).start();
    driver.ask({ batch: 4, dueInMs: 125 });
    driver.passTo(10);
    driver.ask({ ...LOW, dueInMs: 35 });
    driver.ask({ ...LOW, dueInMs: 120 });
    expect(driver.news().length).toBe(1);
  });
});

/**
 * Three places are busy till 120, and nobody can do with fewer. One waits that needs all four from
 * 122 on at the latest, and place 3 is free. @param atMs when it comes.
 */
function reserved(atMs: number, isHigh = true): AccordionDriver {
  const driver = new AccordionDriver(chainPlaces(4, { policy: { backfill: true } }));
  for (const place of [0, 1, 2]) driver.comeUp(place);
  driver.ask({ batch: 3, dueInMs: 125 });
  driver.comeUp(3);
  driver.passTo(atMs);
  driver.ask({ batch: 2, isHigh, dueInMs: 182 - atMs });
  driver.news();
  return driver;
}

describe.each([true, false])("the first that waits, of high priority: %s,", (isHigh) => {
  test("is passed by who gives its place back in time", () => {
    const driver = reserved(2, isHigh);
    driver.ask({ isHigh });
    driver.settle();
    expect(driver.news()).toEqual([
      "2 start 2 [3]",
      "120 done 0",
      "122 done 2",
      "122 start 1 [0,1,2,3]",
      "182 done 1",
    ]);
  });

  test("is not passed by who would make it late", () => {
    const driver = reserved(3, isHigh);
    driver.ask({ isHigh });
    driver.settle();
    expect(driver.news()).toEqual([
      "120 done 0",
      "120 start 1 [0,1,2,3]",
      "180 done 1",
      "180 start 2 [0,1,2,3]",
      "210 done 2",
    ]);
  });
});

test("places that come up are spare beside those of the first that waits", () => {
  const driver = new AccordionDriver(chainPlaces(6, { policy: { backfill: true } }));
  for (const place of [0, 1, 2]) driver.comeUp(place);
  driver.ask({ batch: 3, dueInMs: 125 });
  driver.comeUp(3);
  driver.comeUp(4);
  driver.passTo(3);
  driver.ask({ batch: 4, dueInMs: 239 });
  driver.ask();
  driver.ask();
  driver.settle();
  // It has to have four places at 122, when there are five: one query passes it, and not two.
  expect(driver.news().slice(1)).toEqual([
    "3 start 2 [3]",
    "120 done 0",
    "120 start 1 [0,1,2,4]",
    "123 done 2",
    "123 start 3 [3]",
    "240 done 1",
    "243 done 3",
  ]);
});
