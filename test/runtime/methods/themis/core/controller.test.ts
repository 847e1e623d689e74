import { describe, expect, test } from "vitest";
import { firstLevel } from "../../../../../runtime/methods/themis/core/controller.ts";
import type { ThemisBundleSketch } from "../../../../support/themis-bundle.ts";
import { Desk, deskBundle, type Row } from "../../../../support/themis-desk.ts";

describe("a burst", () => {
  test("gives what is up the cores and batches of its row, at once", () => {
    const desk = new Desk(0);
    expect(desk.look(1)).toBe(true);
    expect(desk.plan).toBe("1x2 1x1");
    expect(desk.batches).toEqual([3, 1]);
    expect(desk.controller.level).toBe(1);
    expect(desk.controller.goal).toBe(0);
    expect(desk.controller.burstCount).toBe(1);
  });

  test("adds the extra instances of the table, with the same cores or with one", () => {
    const same = new Desk(0);
    same.look(2);
    expect(same.plan).toBe("2x4 1x2");
    expect(same.startCores).toEqual([4, 2]);
    const one = new Desk(0, { policy: { extraCores: "one" } });
    one.look(2);
    expect(one.plan).toBe("2x4 1x2");
    // The other task has none, and what is started there takes the place of a lost one.
    expect(one.startCores).toEqual([1, 2]);
  });

  test("never takes cores or instances away", () => {
    const desk = new Desk(1);
    desk.look(2);
    expect(desk.plan).toBe("2x3 1x2");
    desk.controller.level = 0;
    // One was lost: the row for one says two cores.
    desk.have([1, 3], [1, 2]);
    desk.look(1);
    expect(desk.plan).toBe("2x3 1x2");
    expect(desk.batches).toEqual([3, 1]);
  });

  test("goes by the instances that are up, not by those that there are to be", () => {
    const desk = new Desk(1);
    desk.have([1, 1], [1, 1]);
    desk.look(2);
    expect(desk.plan).toBe("2x4 1x2");
  });

  test("of a lower level changes nothing", () => {
    const desk = new Desk(1);
    expect(desk.look(1)).toBe(false);
    expect(desk.look(0)).toBe(false);
    expect(desk.plan).toBe("2x1 1x1");
    expect(desk.controller.burstCount).toBe(0);
  });

  test("during a move keeps the instances that are on their way", () => {
    const desk = new Desk(0);
    desk.look(1, 1);
    expect(desk.plan).toBe("2x2 1x1");
    desk.look(2);
    expect(desk.plan).toBe("2x4 1x2");
    expect(desk.controller.goal).toBe(1);
  });

  test("means nothing where there are instances only", () => {
    const desk = new Desk(0, { policy: { scaling: "horizontal" } });
    expect(desk.look(2)).toBe(false);
    expect(desk.plan).toBe("1x1 1x1");
    expect(desk.controller.level).toBe(0);
  });

  test("gives up instances on their way where the pool has no room for them", () => {
    const desk = new Desk(0, { workers: 12, cores: null });
    desk.look(1, 2);
    expect(desk.plan).toBe("3x2 2x1");
    // Three of four cores and two of two are sixteen.
    expect(desk.look(2, 2)).toBe(true);
    expect(desk.plan).toBe("2x4 1x2");
    expect(desk.controller.goal).toBe(0);
  });
});

describe("a move to another plan", () => {
  test("starts what is more with the plan's cores, and leaves the others as they are", () => {
    const desk = new Desk(0);
    desk.look(1);
    expect(desk.look(1, 1)).toBe(true);
    expect(desk.plan).toBe("2x2 1x1");
    expect(desk.startCores).toEqual([1, 1]);
    expect(desk.controller.goal).toBe(1);
    expect(desk.controller.settledCount).toBe(0);
  });

  test("takes nothing away before all is up with its cores in force", () => {
    const desk = new Desk(0);
    desk.look(2);
    desk.look(2, 2);
    expect(desk.plan).toBe("3x4 2x2");
    for (const fleet of [
      [2, 4, 2, 2],
      [3, 4, 1, 2],
      [3, 1, 2, 2],
    ] as const) {
      desk.have([fleet[0], fleet[1]], [fleet[2], fleet[3]]);
      expect(desk.review()).toBe(false);
      expect(desk.plan).toBe("3x4 2x2");
    }
    desk.have([3, 2], [2, 1]);
    expect(desk.review()).toBe(true);
    expect(desk.plan).toBe("3x2 2x1");
    expect(desk.batches).toEqual([2, 2]);
    expect(desk.controller.settledCount).toBe(1);
    expect([desk.controller.goal, desk.controller.level]).toEqual([2, 2]);
    expect(desk.review()).toBe(false);
  });

  test("ends at once where all of it is there", () => {
    const desk = new Desk(2);
    expect(desk.look(0, 0)).toBe(true);
    expect(desk.plan).toBe("1x1 1x1");
    expect(desk.controller.settledCount).toBe(1);
  });

  test("to the plan in force takes the cores of a burst away", () => {
    const desk = new Desk(1);
    desk.look(2);
    desk.have([2, 3], [1, 2]);
    expect(desk.look(0, 1)).toBe(true);
    expect(desk.plan).toBe("2x1 1x1");
    expect(desk.controller.level).toBe(1);
  });

  test("that has ended below what is carried goes on carrying it, from its own row", () => {
    const desk = new Desk(0);
    desk.look(2, 1);
    expect(desk.plan).toBe("2x4 1x2");
    desk.have([2, 4], [1, 2]);
    expect(desk.review()).toBe(true);
    expect(desk.controller.goal).toBe(1);
    expect(desk.controller.level).toBe(2);
    expect(desk.plan).toBe("2x3 1x2");
    expect(desk.batches).toEqual([4, 2]);
  });

  test("that has ended below what was carried lets it go if it is not needed any more", () => {
    const desk = new Desk(0);
    desk.look(2, 1);
    desk.look(0);
    desk.have([2, 4], [1, 2]);
    desk.review();
    expect(desk.plan).toBe("2x1 1x1");
    expect(desk.controller.level).toBe(1);
  });

  test("raises those started with fewer cores than planned, and comes to its end", () => {
    const desk = new Desk(0, { policy: { extraCores: "one" } });
    desk.look(2);
    desk.look(2, 2);
    expect(desk.plan).toBe("3x4 2x2");
    const { raises } = desk.controller;
    // The extra instance of the burst has one core.
    expect(raises).toBe(1);
    expect(desk.startCores).toEqual([2, 1]);
    desk.have([3, 2], [2, 1]);
    expect(desk.review()).toBe(true);
    expect(desk.plan).toBe("3x2 2x1");
  });

  test("to a plan with more cores raises all to them before it ends", () => {
    const flat: NonNullable<ThemisBundleSketch["levels"]> = [
      { loadQps: 20, steady: [[1, 1, 2]] },
      { loadQps: 60, steady: [[1, 3, 2]] },
    ];
    const kept: Row[] = [
      [[[1, 1, 0]], [[1, 1, 0]]],
      [[[1, 3, 0]], [[1, 3, 0]]],
    ];
    const tasks = [{ name: "only", fit: { gamma: 1, epsilon: 1, delta: 1, eta: 1 } }];
    const desk = new Desk(0, { tasks, levels: flat, transitions: kept });
    desk.look(0, 1);
    expect(desk.plan).toBe("2x3");
    expect(desk.controller.raises).toBe(1);
    expect(desk.controller.settledCount).toBe(0);
    desk.have([2, 3]);
    desk.review();
    expect(desk.controller.settledCount).toBe(1);
  });
});

describe("a fixed level", () => {
  test("never changes", () => {
    const desk = new Desk(1, {}, true);
    expect(desk.look(2, 2)).toBe(false);
    expect(desk.look(0, 0)).toBe(false);
    expect(desk.plan).toBe("2x1 1x1");
    expect(desk.demand.looks).toEqual([]);
  });
});

describe("the first level", () => {
  test("is the lowest for what is expected, and the highest if it is unknown", () => {
    const bundle = deskBundle({});
    const levels = [0, 20, 20.1, 150, 151, Number.NaN].map((qps) => firstLevel(bundle, qps));
    expect(levels).toEqual([0, 0, 1, 2, 2, 2]);
  });
});

describe("the demand", () => {
  test("is told what is carried, what is in force, and what waits", () => {
    const desk = new Desk(0);
    desk.look(1);
    desk.look(1);
    expect(desk.demand.looks).toEqual([
      [1000, 0, 0, 0, 1],
      [1000, 0, 1, 0, 1],
    ]);
  });
});
