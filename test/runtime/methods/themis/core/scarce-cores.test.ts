import { describe, expect, test } from "vitest";
import { Desk } from "../../../../support/themis-desk.ts";

const ONE_TASK = [{ name: "only", fit: { gamma: 1, epsilon: 1, delta: 1, eta: 1 } }];

/** One task; no burst can be met with cores. */
function pools(cores: number, ...plans: readonly (readonly [cores: number, instances: number])[]) {
  return {
    tasks: ONE_TASK,
    levels: plans.map(([of, instances], index) => ({
      loadQps: 20 * 2 ** index,
      steady: [[1, of, instances]] as const,
      horizontal: null,
      vertical: null,
    })),
    transitions: plans.map(([of]) => plans.map(() => [[1, of, 0]] as const)),
    workers: cores,
    cores: null,
  };
}

describe("where the pool is short of cores", () => {
  test("nothing is started that does not fit beside what runs", () => {
    const desk = new Desk(0, pools(6, [4, 1], [1, 6]));
    expect(desk.look(1, 1)).toBe(true);
    expect(desk.plan).toBe("1x4");
    expect(desk.look(1, 1)).toBe(false);
  });

  test("a plan on the way up is taken that fits", () => {
    const desk = new Desk(0, pools(8, [4, 1], [2, 2], [1, 6]));
    desk.look(2, 2);
    expect(desk.plan).toBe("2x4");
    expect(desk.controller.goal).toBe(1);
    desk.have([2, 2]);
    desk.review();
    expect(desk.plan).toBe("2x2");
    desk.look(2, 2);
    expect(desk.plan).toBe("6x2");
  });

  test("so is one on the way down", () => {
    const desk = new Desk(2, pools(8, [1, 4], [4, 1], [8, 1]));
    expect(desk.look(0, 0)).toBe(true);
    expect(desk.plan).toBe("1x4");
    expect(desk.controller.goal).toBe(1);
    desk.have([1, 4]);
    desk.look(0, 0);
    expect(desk.plan).toBe("4x4");
    expect(desk.startCores).toEqual([1]);
  });

  test("the plan in force stays where no lower one fits", () => {
    const desk = new Desk(1, pools(6, [2, 3], [4, 1]));
    expect(desk.look(0, 0)).toBe(false);
    expect(desk.plan).toBe("1x4");
    expect(desk.controller.settledCount).toBe(0);
  });

  test("instances that have been started stay, even if all would not fit in a burst", () => {
    const desk = new Desk(1, pools(8, [1, 4], [4, 1]));
    desk.look(0, 0);
    expect(desk.plan).toBe("4x4");
    // One of four cores and three of one: there is room, as there was.
    expect(desk.look(0, 0)).toBe(false);
    expect(desk.controller.goal).toBe(0);
    desk.have([4, 1]);
    desk.look(0, 0);
    expect(desk.plan).toBe("4x1");
  });
});

describe("a lost instance", () => {
  test("of a plan makes the others carry its load until it is back", () => {
    const desk = new Desk(1);
    desk.have([1, 1], [1, 1]).lose();
    expect(desk.plan).toBe("2x2 1x1");
    expect(desk.batches).toEqual([3, 1]);
    expect(desk.startCores).toEqual([2, 1]);
    expect([desk.controller.level, desk.controller.burstCount]).toEqual([1, 0]);
    desk.have([1, 2], [1, 1]);
    expect(desk.review()).toBe(false);
    desk.have([2, 2], [1, 1]);
    expect(desk.review()).toBe(true);
    expect(desk.plan).toBe("2x1 1x1");
  });

  test("during a burst makes the others carry the burst from the lower row", () => {
    const desk = new Desk(1);
    desk.look(2);
    expect(desk.plan).toBe("2x3 1x2");
    desk.have([1, 3], [1, 2]).lose();
    expect(desk.plan).toBe("2x4 1x2");
    // It is back, and the burst is not over.
    desk.have([2, 4], [1, 2]).review();
    expect(desk.plan).toBe("2x3 1x2");
    expect(desk.controller.level).toBe(2);
  });

  test("changes nothing where enough are left", () => {
    const desk = new Desk(0);
    desk.have([2, 1], [1, 1]).lose();
    expect(desk.plan).toBe("1x1 1x1");
    expect(desk.review()).toBe(false);
  });

  test("is started again in place of more cores where the pool has not room for both", () => {
    const desk = new Desk(1, { workers: 4, cores: 1 });
    desk.have([1, 1], [1, 1]).lose();
    expect(desk.plan).toBe("2x1 1x1");
    expect(desk.review()).toBe(false);
  });

  test("keeps the plan that is being moved to", () => {
    const desk = new Desk(1);
    desk.look(2, 2);
    desk.have([1, 3], [1, 2]).lose();
    expect(desk.plan).toBe("3x4 2x2");
    expect(desk.controller.goal).toBe(2);
  });

  test("is only started again where there are instances only, or a level is fixed", () => {
    for (const desk of [
      new Desk(1, { policy: { scaling: "horizontal" } }),
      new Desk(1, {}, true),
    ]) {
      desk.have([1, 1], [1, 1]).lose();
      expect(desk.plan).toBe("2x1 1x1");
    }
  });
});
