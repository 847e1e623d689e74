import { describe, expect, test } from "vitest";
import { decisions, FACTS, replicasAt } from "../../../../support/scaler-desk.ts";

const TARGET = 0.8;

describe("Kubernetes' autoscaler", () => {
  test("leaves what is within a tenth of its target", () => {
    for (const busy of [1.45, 1.6, 1.75]) {
      const told = decisions("hpa", TARGET, 600, [{ fromS: 0, busy }]);
      expect(replicasAt(told, 600)).toBe(2);
    }
  });

  test("has as many replicas at a poll as make them as busy as the target", () => {
    const told = decisions("hpa", TARGET, 60, [{ fromS: 0, busy: 2 }]);
    expect(told.map(({ atS }) => atS)).toEqual([15, 30, 45, 60]);
    expect(replicasAt(told, 15)).toBe(3);
    expect(replicasAt(told, 60)).toBe(3);
  });

  test("at most doubles them per poll, or adds four", () => {
    const facts = { ...FACTS, replicas: 6 };
    const told = decisions("hpa", 0.1, 45, [{ fromS: 0, busy: 6 }], { facts });
    expect(told.map(({ replicas }) => replicas)).toEqual([12, 24, 48]);
    const few = decisions("hpa", 0.1, 30, [{ fromS: 0, busy: 2 }]);
    expect(few.map(({ replicas }) => replicas)).toEqual([6, 12]);
  });

  test("goes down to the most of the last five minutes", () => {
    const scenes = [
      { fromS: 0, busy: 1.6 },
      { fromS: 60, busy: 0.4 },
    ];
    const told = decisions("hpa", TARGET, 600, scenes);
    expect(replicasAt(told, 345)).toBe(2);
    expect(replicasAt(told, 375)).toBe(1);
  });

  test("does not ask again for those that come up", () => {
    const readyAt = () => 2;
    const told = decisions("hpa", TARGET, 60, [{ fromS: 0, busy: 2 }], { readyAt });
    expect(told.map(({ replicas }) => replicas)).toEqual([3, 3, 3, 3]);
  });
});
