import { describe, expect, test } from "vitest";
import { StageQueues } from "../../../../../runtime/methods/inferline/core/stage-queues.ts";
import { inferlineBundle } from "../../../../support/inferline-bundle.ts";

/** 10 ms and then 20 ms, 5 ms apart. */
const BUNDLE = inferlineBundle({
  communicationLatencyMs: 5,
  tasks: [
    { name: "a", latencyMs: { 1: 10 } },
    { name: "b", from: { a: 1 }, latencyMs: { 1: 20 } },
  ],
  levels: [
    {
      loadQps: 50,
      stages: [
        [1, 1],
        [1, 1],
      ],
    },
  ],
});

/** 20 ms, and then batches of which a whole one alone takes longer than the SLO of 250 ms. */
const SLOW = inferlineBundle({
  tasks: [
    { name: "a", latencyMs: { 1: 20 } },
    { name: "b", from: { a: 1 }, latencyMs: { 1: 50, 3: 90, 8: 300 } },
  ],
  levels: [
    {
      loadQps: 10,
      stages: [
        [1, 1],
        [8, 1],
      ],
    },
  ],
});

function order(queues: StageQueues, task: number): number[] {
  const taken: number[] = [];
  while (queues.length(task) > 0) taken.push(queues.take(task));
  return taken;
}

describe("what waits at a task", () => {
  test("is first in, first out, where late ones do not wait for others", () => {
    const queues = new StageQueues(BUNDLE, 8, false);
    for (const query of [3, 1, 2]) queues.append(0, query, 0);
    queues.setBack(0, 0, 1000);
    expect(order(queues, 0)).toEqual([3, 1, 2]);
  });

  test("can be in time if the longest way from here ends by the deadline; others come last", () => {
    const queues = new StageQueues(BUNDLE, 8, true);
    // 10 and 5 and 20 ms from the start of a.
    queues.append(0, 0, 134.9);
    queues.append(0, 1, 135);
    queues.append(0, 2, 500);
    queues.append(1, 3, 119.9);
    queues.append(1, 4, 120);
    queues.setBack(0, 0, 100);
    queues.setBack(1, 0, 100);
    expect([queues.length(0), queues.length(1), queues.waiting]).toEqual([3, 2, 5]);
    expect(order(queues, 0)).toEqual([1, 2, 0]);
    expect(order(queues, 1)).toEqual([4, 3]);
  });

  test("keeps its order among those that are late, and one comes out of wherever it waits", () => {
    const queues = new StageQueues(BUNDLE, 8, true);
    for (let query = 0; query < 4; query++) queues.append(0, query, 50);
    queues.setBack(0, 0, 100);
    queues.append(0, 4, 900);
    expect(queues.remove(1)).toBe(true);
    expect(queues.remove(1)).toBe(false);
    expect(order(queues, 0)).toEqual([4, 0, 2, 3]);
  });

  test("has a query that is tried again at its head, by the deadline that it had", () => {
    const queues = new StageQueues(BUNDLE, 8, true);
    queues.append(0, 5, 120);
    queues.append(0, 6, 900);
    expect(queues.take(0)).toBe(5);
    queues.putFirst(0, 5);
    queues.setBack(0, 0, 80);
    expect(order(queues, 0)).toEqual([5, 6]);
    queues.putFirst(0, 5);
    queues.append(0, 6, 900);
    queues.setBack(0, 0, 100);
    expect(order(queues, 0)).toEqual([6, 5]);
  });

  test("can be in time under a plan whose whole batches take longer than the SLO", () => {
    const queues = new StageQueues(SLOW, 16, true);
    queues.append(1, 0, 250);
    // 50 ms in one, 90 in two to three, 300 in a whole batch.
    queues.setBack(1, 0, 150);
    expect(queues.mostOf(1, 0, 8, 150)).toBe(3);
    queues.append(1, 1, 251);
    expect(queues.take(1)).toBe(0);
    queues.setBack(1, 0, 162);
    queues.append(1, 2, 900);
    expect(order(queues, 1)).toEqual([2, 1]);
  });

  test("is in batches as large as its first has time for, late ones in those of the plan", () => {
    const queues = new StageQueues(SLOW, 16, true);
    expect(queues.mostOf(1, 0, 8, 0)).toBe(8);
    queues.append(1, 0, 250);
    expect(queues.mostOf(1, 0, 8, 0)).toBe(3);
    queues.putFirst(1, 1);
    queues.remove(1);
    queues.append(0, 2, 1000);
    expect(queues.mostOf(0, 0, 1, 0)).toBe(1);
    queues.remove(0);
    queues.append(1, 3, 300);
    expect(queues.mostOf(1, 0, 8, 0)).toBe(8);
    queues.setBack(1, 0, 290);
    expect(queues.mostOf(1, 0, 8, 290)).toBe(8);
  });
});
