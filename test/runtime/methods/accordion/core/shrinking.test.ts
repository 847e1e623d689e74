import { describe, expect, test } from "vitest";
import { chainPlaces } from "../../../../support/accordion-chain.ts";
import { AccordionDriver } from "../../../../support/accordion-driver.ts";

/**
 * Of so many places, with queries of four instances that came at time 0, each on four of them.
 * @param due of each.
 */
function busy(places: number, ...due: number[]): AccordionDriver {
  const driver = new AccordionDriver(chainPlaces(places)).start();
  for (const dueInMs of due) driver.ask({ batch: 4, dueInMs });
  driver.news();
  return driver;
}

describe("a query for which too few places are free", () => {
  test("takes from a running one what it needs to be on time, and no more", () => {
    const driver = busy(4, 1000);
    driver.passTo(10);
    // In 100 ms it is done on 2 places.
    driver.ask({ dueInMs: 100 });
    driver.settle();
    expect(driver.news()).toEqual([
      "10 reshape 0 [0,1]",
      "10 start 1 [2,3]",
      "70 done 1",
      // Four instances of 60 ms from 15 ms on.
      "255 done 0",
    ]);
  });

  test("uses those that are free besides", () => {
    const driver = busy(5, 1000);
    driver.passTo(10);
    driver.ask({ dueInMs: 100 });
    expect(driver.news()).toEqual(["10 reshape 0 [0,1,2]", "10 start 1 [3,4]"]);
  });

  test("takes no more than the least that is enough, also when more are to be had", () => {
    const driver = busy(4, 1000);
    driver.ask({ dueInMs: 120 });
    expect(driver.news()).toEqual(["0 reshape 0 [0,1,2]", "0 start 1 [3]"]);
  });

  test("who shrinks goes on with the instance that was under way", () => {
    const driver = busy(4, 1000);
    driver.passTo(40);
    driver.ask({ dueInMs: 100 });
    driver.settle();
    expect(driver.news()).toEqual([
      "40 reshape 0 [0,1] from 1",
      "40 start 1 [2,3]",
      "100 done 1",
      "225 done 0",
    ]);
  });

  test("takes from who has the most slack with one place less, anew for every place", () => {
    const driver = busy(8, 1000, 950);
    driver.passTo(10);
    // Slack on 3 places: 825 and 775; then the first would have 745 on 2.
    driver.ask({ dueInMs: 100 });
    expect(driver.news()).toEqual([
      "10 reshape 0 [0,1,2]",
      "10 reshape 1 [4,5,6]",
      "10 start 2 [3,7]",
    ]);
  });

  test("takes all from one who has the most slack all along", () => {
    const driver = busy(8, 700, 1000);
    driver.passTo(10);
    driver.ask({ dueInMs: 100 });
    expect(driver.news()).toEqual(["10 reshape 1 [4,5]", "10 start 2 [6,7]"]);
  });

  test("of equal slack takes from the first that runs", () => {
    const driver = busy(8, 1000, 1000);
    driver.ask({ dueInMs: 120 });
    expect(driver.news()).toEqual(["0 reshape 0 [0,1,2]", "0 start 2 [3]"]);
  });

  test("leaves everyone one place", () => {
    const driver = busy(4, 10_000);
    driver.ask({ dueInMs: 40 });
    expect(driver.news()).toEqual(["0 reshape 0 [0]", "0 start 1 [1,2,3]"]);
    // A second one finds nobody who can do with less.
    driver.ask({ dueInMs: 10_000 });
    expect(driver.news()).toEqual([]);
    driver.settle();
    expect(driver.news()).toEqual(["40 done 1", "40 start 2 [1,2,3]", "80 done 2", "485 done 0"]);
  });

  test("touches nobody unless all together have enough", () => {
    // On 3 places they end at 175: the first can give one, the second none.
    const driver = busy(8, 180, 174);
    driver.passTo(10);
    driver.ask({ dueInMs: 100 });
    driver.passTo(119);
    expect(driver.news()).toEqual([]);
    driver.settle();
    expect(driver.news()).toEqual([
      "120 done 0",
      "120 start 2 [0,1,2,3]",
      "120 done 1",
      "150 done 2",
    ]);
  });

  test("takes a place whose loss leaves no slack, not one whose loss makes late", () => {
    const isGiven = (dueInMs: number) => {
      const driver = busy(4, dueInMs);
      driver.passTo(10);
      driver.ask({ dueInMs: 120 });
      return driver.news().length > 0;
    };
    expect([isGiven(175), isGiven(174.999)]).toEqual([true, false]);
  });

  test("counts the cost of a change that is still under way, and that of another", () => {
    const driver = busy(4, 500);
    driver.ask({ dueInMs: 120 });
    driver.passTo(4);
    driver.news();
    // On 2 places from 9 ms on: 249.
    driver.ask({ dueInMs: 120 });
    driver.settle();
    expect(driver.news()).toEqual([
      "4 reshape 0 [0,1]",
      "4 start 2 [2]",
      "120 done 1",
      "124 done 2",
      "249 done 0",
    ]);
  });

  test("takes nothing from who is late, even if that would help", () => {
    // 100, 200 and 50 ms on 1, 2 and 3 places.
    const models = [{ name: "bumpy", wholeMs: 100, speedups: { 2: 0.5, 3: 2 } }];
    const driver = new AccordionDriver(chainPlaces(3, { models, maxDepth: 3 })).start();
    driver.ask({ dueInMs: 150 });
    driver.lose(2);
    driver.news();
    driver.ask({ dueInMs: 150 });
    expect(driver.news()).toEqual([]);
  });

  test("takes nothing of a model that has no pipeline of so many places", () => {
    const models = [{ name: "two", layerMs: [30, 30] }];
    const driver = new AccordionDriver(chainPlaces(5, { models })).start();
    driver.ask({ batch: 8 });
    driver.ask({ batch: 8 });
    driver.ask({ dueInMs: 30 });
    // One is free; with 2 places it is done in 30 ms.
    expect(driver.news()).toEqual([
      "0 start 0 [0,1]",
      "0 start 1 [2,3]",
      "0 reshape 0 [0]",
      "0 start 2 [1,4]",
    ]);
  });

  test("takes places of the pools that it needs", () => {
    const pools = [{ workers: 2 }, { workers: 2, speed: 4 }];
    const driver = new AccordionDriver(chainPlaces(0, { pools })).start();
    driver.ask({ batch: 8, dueInMs: 5000 });
    // On a fast place it takes 30 ms, on a slow one 120.
    driver.ask({ dueInMs: 40 });
    const [first, ...rest] = driver.news();
    expect(first).toMatch(/start 0 \[.,.,.,.\]/);
    expect(rest).toEqual([expect.stringMatching(/reshape 0 \[.,.,.\]/), "0 start 1 [3]"]);
  });
});
