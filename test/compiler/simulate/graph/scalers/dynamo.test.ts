import { describe, expect, test } from "vitest";
import { decisions, FACTS, replicasAt } from "../../../../support/scaler-desk.ts";

/** Six queries before one are three whole batches, and its own: 58 ms. */
const facts = { ...FACTS, shareMs: 50 };

describe("Dynamo's planner", () => {
  test("has one more while the next query would take longer than the SLA", () => {
    const told = decisions("dynamo", 1, 15, [{ fromS: 0, waiting: 24 }], { facts });
    // Of 24 that wait 12, 8 and 6 are before one: with 4 each there are two whole batches.
    expect(told.map(({ replicas }) => replicas)).toEqual([3, 4, 5]);
  });

  test("has one fewer while it would take less than four fifths of it, but for the floor", () => {
    const told = decisions("dynamo", 1, 400, [{ fromS: 0, qps: 300 }], { facts });
    expect(replicasAt(told, 5)).toBe(1);
    // 300 a second over 125 of a replica, from the first three minutes on.
    expect(replicasAt(told, 175)).toBe(1);
    expect(replicasAt(told, 180)).toBe(3);
    expect(replicasAt(told, 400)).toBe(3);
  });

  test("says nothing while replicas come up", () => {
    const scene = [{ fromS: 0, waiting: 24 }];
    const told = decisions("dynamo", 1, 20, scene, { facts, readyAt: () => 2 });
    expect(told.map(({ replicas }) => replicas)).toEqual([3, 3, 3, 3]);
  });

  test("counts on batches within the SLA alone", () => {
    const tight = { ...FACTS, shareMs: 12 };
    const told = decisions("dynamo", 1, 180, [{ fromS: 0, qps: 300 }], { facts: tight });
    // One query in 10 ms is 100 a second; alone it takes more than four fifths of the SLA.
    expect(replicasAt(told, 180)).toBe(3);
  });
});
