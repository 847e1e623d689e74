import { describe, expect, test } from "vitest";
import type { AccordionOptions } from "../../../../../runtime/bundle/schema.ts";
import { Growth } from "../../../../../runtime/methods/accordion/core/growth.ts";
import { CHAIN, chainPlaces } from "../../../../support/accordion-chain.ts";
import { AccordionDriver } from "../../../../support/accordion-driver.ts";

/**
 * A query of four instances had to make room for another at 10 ms: it began again on two places at
 * 15, and would be done at 255.
 */
function shrunk(
  policy: Partial<AccordionOptions>,
  { batch = 1, dueInMs = 100 }: { readonly batch?: number; readonly dueInMs?: number } = {},
): AccordionDriver {
  const driver = new AccordionDriver(chainPlaces(4, { policy })).start();
  driver.ask({ batch: 4 });
  driver.passTo(10);
  driver.ask({ batch, dueInMs });
  expect(driver.news().slice(1)).toEqual(["10 reshape 0 [0,1]", "10 start 1 [2,3]"]);
  return driver;
}

describe("a running query", () => {
  test("gets places that are free when nothing waits", () => {
    const driver = shrunk({ regrow: true });
    driver.settle();
    // Four instances of 30 ms from 75 on.
    expect(driver.news()).toEqual(["70 done 1", "70 reshape 0 [0,1,2,3]", "195 done 0"]);
  });

  test("keeps those it has unless it may grow", () => {
    const driver = shrunk({ regrow: false });
    driver.settle();
    expect(driver.news()).toEqual(["70 done 1", "255 done 0"]);
  });

  test("does not grow for nothing", () => {
    // The other one ends at 190, when two instances are left: 5 + 2 · 30 ms from then on is 255
    // again.
    const driver = shrunk({ regrow: true }, { batch: 3, dueInMs: 200 });
    driver.settle();
    expect(driver.news()).toEqual(["190 done 1", "255 done 0"]);
  });

  test("does not grow while another one waits, which has the places", () => {
    const driver = shrunk({ regrow: true });
    // On one place it would take 240 ms, and the first one can give no more.
    driver.ask({ batch: 2, dueInMs: 200 });
    driver.passTo(70);
    expect(driver.news()).toEqual(["70 done 1", "70 start 2 [2,3]"]);
  });

  test("grows when a place comes up", () => {
    const driver = new AccordionDriver(chainPlaces(3, { policy: { regrow: true } }));
    driver.comeUp(1);
    driver.ask({ batch: 2 });
    driver.comeUp(0);
    driver.comeUp(2);
    driver.settle();
    // Two instances of 60 ms instead of 120, then of 40: 5 + 80 ms.
    expect(driver.news()).toEqual([
      "0 start 0 [1]",
      "0 reshape 0 [1,0]",
      "0 reshape 0 [1,0,2]",
      "85 done 0",
    ]);
  });

  test("the one that gains the most has the places", () => {
    const driver = new AccordionDriver(chainPlaces(3, { policy: { regrow: true } }));
    driver.comeUp(0);
    driver.ask({ batch: 2, dueInMs: 10_000 });
    driver.comeUp(1);
    driver.news();
    // On two places; then the second takes one of them.
    driver.ask({ batch: 8, dueInMs: 10_000 });
    driver.comeUp(2);
    expect(driver.news()).toEqual(["0 reshape 0 [0]", "0 start 1 [1]", "0 reshape 1 [1,2]"]);
  });

  test("does not grow for what a sum is rounded to", () => {
    // Ends at 1 + 10 ms; on three places it would, from 7.67 ms on, after 3.33: at the same time,
    // but for 4e-16 ms.
    const models = [{ name: "m", wholeMs: 10, speedups: { 3: 3 } }];
    const policy = { regrow: true, reconfigurationMs: 0 };
    const driver = new AccordionDriver(chainPlaces(3, { models, maxDepth: 3, policy }));
    driver.comeUp(0);
    driver.passTo(1);
    driver.ask();
    driver.passTo(1 + 10 - 10 / 3);
    // Both in one moment: with the first, two places would be no better.
    driver.comeUp(1);
    driver.news();
    driver.comeUp(2);
    expect(driver.news()).toEqual([]);
  });
});

describe("a running query of high priority", () => {
  /**
   * Places 0 to 3 are busy till 120, and nobody can do with fewer. At 100 one comes that has to end
   * by 170, and needs two places.
   */
  function eager(isHigh: boolean): AccordionDriver {
    const driver = new AccordionDriver(chainPlaces(5, { policy: { regrow: true } })).start();
    driver.ask({ batch: 4, dueInMs: 125 });
    driver.passTo(100);
    driver.news();
    driver.ask({ dueInMs: 70, isHigh });
    driver.ask({ isHigh: false });
    return driver;
  }

  test("starts on fewer places than it needs, and gets the others before those who wait", () => {
    const driver = eager(true);
    driver.settle();
    expect(driver.news()).toEqual([
      "100 start 1 [4]",
      "120 done 0",
      // Three places from 125 on: 165; two would be too late.
      "120 reshape 1 [4,0,1]",
      "120 start 2 [2,3]",
      "165 done 1",
      "180 done 2",
    ]);
  });

  test("which one of low priority does not", () => {
    const driver = eager(false);
    driver.passTo(120);
    expect(driver.news()).toEqual(["120 done 0", "120 start 1 [0,1,2,3]", "120 start 2 [4]"]);
  });

  test("is not helped if it would be late all the same", () => {
    const driver = new AccordionDriver(chainPlaces(5, { policy: { regrow: true } })).start();
    driver.ask({ batch: 4, dueInMs: 125 });
    driver.passTo(90);
    driver.ask({ dueInMs: 64 });
    driver.ask();
    driver.news();
    // Due at 154: 120 + 5 + 30 is too late, so that the one that waits comes first.
    driver.passTo(120);
    expect(driver.news()).toEqual(["120 done 0", "120 start 2 [0,1,2,3]"]);
  });

  /**
   * A large one has one place of four; the others are free at 10, 20 and 100, and small ones wait
   * for them. It is due at 110: on three places from 25 on it is on time.
   */
  function amongSmall(policy: Partial<AccordionOptions>): AccordionDriver {
    const one = (ms: number) => ({ name: `one-${ms}`, layerMs: [ms] });
    const models = [CHAIN, one(10), one(20), one(100), one(9)];
    const driver = new AccordionDriver(chainPlaces(4, { models, policy })).start();
    for (const model of [1, 2, 3]) driver.ask({ model, dueInMs: 100 });
    driver.ask({ batch: 2, dueInMs: 110 });
    driver.news();
    for (const model of [2, 4, 2]) driver.ask({ model });
    driver.settle();
    return driver;
  }

  test("has places kept for it that come one by one; who gives them back in time has them", () => {
    expect(amongSmall({ regrow: true, backfill: true }).news()).toEqual([
      "10 done 0",
      // The first that waits would have the place until 30, and the large one needs it at 25.
      "10 start 5 [0]",
      "19 done 5",
      "20 done 1",
      "20 reshape 3 [3,0,1]",
      "100 done 2",
      "100 start 4 [2]",
      "105 done 3",
      "105 start 6 [0]",
      "120 done 4",
      "125 done 6",
    ]);
  });

  test("which that cannot grow waits for them, passed by those that leave it in time", () => {
    // Three places are enough from 30 on, and two small ones are over by then.
    expect(amongSmall({ backfill: true }).news()).toEqual([
      "0 start 4 [3]",
      "10 done 0",
      "10 start 5 [0]",
      "19 done 5",
      "20 done 1",
      "20 done 4",
      "20 start 3 [0,1,3]",
      "100 done 2",
      "100 start 6 [2]",
      "100 done 3",
      "120 done 6",
    ]);
  });
});

test("the next query grows where a claim does not allow the one that gains the most", () => {
  // Both run on shape 0 and could have shape 1; the first gains 40 ms by it, the second 20.
  const leftMs = [
    [100, 60],
    [50, 30],
  ];
  const runs = {
    activeCount: 2,
    toleranceMs: 1e-6,
    active: (index: number) => index,
    shape: () => 0,
    finishMs: (query: number, nowMs: number) => nowMs + (leftMs[query]?.[0] ?? 0),
    timeLeftMs: (query: number, shape: number) => leftMs[query]?.[shape] ?? 0,
  };
  const choice = { endOfLarger: () => 2, isFreeBeyond: () => true };
  const asked: (readonly [number, number])[] = [];
  const claims = {
    allows: (query: number, _shape: number, endMs: number) => {
      asked.push([query, endMs]);
      return query === 1;
    },
  };
  expect(new Growth(runs, choice, claims, 0).find(10)).toEqual({ query: 1, shape: 1 });
  expect(asked).toEqual([
    [0, 70],
    [1, 40],
  ]);
});
