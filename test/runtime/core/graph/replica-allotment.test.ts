import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ReplicaAllotment } from "../../../../runtime/core/graph/replica-allotment.ts";
import { replicaShapeOf } from "../../../../runtime/core/graph/replica-shape.ts";
import { inferlineBundle } from "../../../support/inferline-bundle.ts";

const LATENCY_MS = { 1: 10 };

/** Replicas as planned, in order; pools by task; `onlyHome`: tasks that no other pool can run. */
function allot(options: {
  planned: readonly number[];
  pools?: readonly number[];
  onlyHome?: readonly number[];
  targets?: readonly number[];
  up: readonly number[];
  unseen?: readonly number[];
}): { wanted: number[]; pool: number[] } {
  const { planned, up, pools = planned.map(() => 0), onlyHome = [] } = options;
  const bundle = inferlineBundle({
    tasks: planned.map((_, task) => ({
      name: `t${task}`,
      latencyMs: up.map((_, pool) =>
        onlyHome.includes(task) && pool !== pools[task] ? null : LATENCY_MS,
      ),
    })),
    levels: [
      { loadQps: 1, stages: planned.map((replicas, task) => [1, replicas, pools[task] ?? 0]) },
    ],
    workers: up.map(() => 20),
  });
  const allotment = new ReplicaAllotment(replicaShapeOf(bundle));
  allotment.update(0, Uint32Array.from(options.targets ?? planned), {
    upByPool: Uint32Array.from(up),
    unseenByPool: Uint32Array.from(options.unseen ?? up.map(() => 0)),
  });
  return { wanted: [...allotment.wanted], pool: [...allotment.pool] };
}

describe("the workers that are up", () => {
  test("are all used as planned when there are enough", () => {
    expect(allot({ planned: [3, 1, 2], up: [20] }).wanted).toEqual([3, 1, 2]);
  });

  test("give every task one first, in order", () => {
    expect(allot({ planned: [5, 1, 1], up: [3] }).wanted).toEqual([1, 1, 1]);
    expect(allot({ planned: [5, 1, 1], up: [2] }).wanted).toEqual([1, 1, 0]);
    expect(allot({ planned: [5, 1, 1], up: [0] }).wanted).toEqual([0, 0, 0]);
  });

  test("then equal parts of what is planned, the first of equals first", () => {
    expect(allot({ planned: [2, 4], up: [5] }).wanted).toEqual([2, 3]);
    expect(allot({ planned: [2, 4], up: [4] }).wanted).toEqual([2, 2]);
    expect(allot({ planned: [3, 3], up: [5] }).wanted).toEqual([3, 2]);
  });

  test("give planned replicas before those that the tuner adds", () => {
    const { wanted } = allot({ planned: [1, 4], targets: [9, 4], up: [7] });
    expect(wanted).toEqual([3, 4]);
  });

  test("give extras to the task with the smallest part of its target", () => {
    const { wanted } = allot({ planned: [1, 1, 2], targets: [4, 2, 3], up: [7] });
    // One each and 2 planned: parts 1/4, 1/2, 2/3. Then 2/4, and of 2/4 and 1/2 the first, 3/4;
    // then 2/2.
    expect(wanted).toEqual([3, 2, 2]);
  });

  test("may be fewer than planned when the tuner wants fewer", () => {
    expect(allot({ planned: [4, 4], targets: [2, 1], up: [20] }).wanted).toEqual([2, 1]);
  });
});

describe("a task whose pool has no worker left", () => {
  test("gets one in the first other pool that can run it and has one to spare", () => {
    const { wanted, pool } = allot({ planned: [2, 2], pools: [0, 1], up: [0, 3] });
    expect(wanted).toEqual([1, 2]);
    expect(pool).toEqual([1, 1]);
    expect(allot({ planned: [2, 2], pools: [0, 1], up: [0, 1] }).wanted).toEqual([0, 1]);
  });

  test("gets none where it cannot run", () => {
    const { wanted } = allot({ planned: [2, 2], pools: [0, 1], onlyHome: [0], up: [0, 9] });
    expect(wanted).toEqual([0, 2]);
  });

  test("waits for its own workers to come up for the first time", () => {
    const { wanted } = allot({ planned: [2, 2], pools: [0, 1], up: [0, 9], unseen: [20, 0] });
    expect(wanted).toEqual([0, 2]);
  });
});

test("one worker more takes no replica away where all pools can be used as planned", () => {
  const counts = fc.array(fc.integer({ min: 1, max: 6 }), { minLength: 1, maxLength: 5 });
  fc.assert(
    fc.property(counts, counts, fc.nat(30), (planned, extra, up) => {
      const targets = planned.map((replicas, task) => replicas + (extra[task] ?? 1) - 1);
      const fewer = allot({ planned, targets, up: [up] }).wanted;
      const more = allot({ planned, targets, up: [up + 1] }).wanted;
      const total = targets.reduce((a, b) => a + b, 0);
      expect(fewer.reduce((a, b) => a + b, 0)).toBe(Math.min(up, total));
      for (const [task, wanted] of fewer.entries()) {
        expect(more[task]).toBeGreaterThanOrEqual(wanted);
        expect(wanted).toBeLessThanOrEqual(targets[task] ?? 0);
      }
    }),
  );
});
