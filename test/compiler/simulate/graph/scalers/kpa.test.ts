import { describe, expect, test } from "vitest";
import { decisions, FACTS, replicasAt } from "../../../../support/scaler-desk.ts";

/** Of 10, of which it aims at 7. */
const TARGET = 10;
const ONE = { ...FACTS, replicas: 1 };

describe("Knative's autoscaler", () => {
  test("has replicas for the mean concurrency of a minute", () => {
    const scenes = [
      { fromS: 0, running: 7 },
      { fromS: 60, running: 14 },
    ];
    const told = decisions("kpa", TARGET, 200, scenes, { facts: ONE });
    expect(replicasAt(told, 60)).toBe(1);
    // One query more than 7 on average is one replica more.
    expect(replicasAt(told, 66)).toBe(2);
    expect(replicasAt(told, 200)).toBe(2);
  });

  test("panics when six seconds ask for twice what is up, and then takes nothing away", () => {
    const scenes = [
      { fromS: 0, running: 7 },
      { fromS: 60, running: 70 },
      { fromS: 90, running: 7 },
    ];
    const told = decisions("kpa", TARGET, 300, scenes, { facts: ONE });
    // A third of the window at ten times the concurrency, then all of it.
    expect(replicasAt(told, 62)).toBe(4);
    expect(replicasAt(told, 66)).toBe(10);
    expect(replicasAt(told, 120)).toBe(10);
    expect(replicasAt(told, 299)).toBe(1);
  });

  test("halves what is up at most, and begins in panic where there are several", () => {
    const facts = { ...FACTS, replicas: 16 };
    const told = decisions("kpa", TARGET, 80, [{ fromS: 0, running: 1 }], { facts });
    expect(replicasAt(told, 60)).toBe(16);
    expect([62, 64, 66, 68, 70].map((atS) => replicasAt(told, atS))).toEqual([8, 4, 2, 1, 1]);
  });
});
