import { describe, expect, test } from "vitest";
import {
  openScalers,
  SCALERS,
  sameForAll,
} from "../../../../../compiler/simulate/graph/scalers/scaler-settings.ts";
import { decisions, FACTS, replicasAt } from "../../../../support/scaler-desk.ts";

describe("KEDA", () => {
  test("has a replica for every five queries of the stage, those at work included", () => {
    const told = decisions("keda", 5, 30, [{ fromS: 0, waiting: 12, running: 4 }]);
    expect(told.map(({ replicas }) => replicas)).toEqual([4, 4]);
  });

  test("goes down as Kubernetes does", () => {
    const scenes = [
      { fromS: 0, waiting: 20 },
      { fromS: 16, waiting: 2 },
    ];
    const told = decisions("keda", 5, 600, scenes);
    expect(replicasAt(told, 300)).toBe(4);
    expect(replicasAt(told, 330)).toBe(1);
  });

  test("by a rate has as many as carry it at a part of what they carry", () => {
    const choice = SCALERS.keda.tried.find(({ options }) => options["metric"] === "rate");
    if (choice === undefined) throw new TypeError("a rate is tried");
    const [scaler] = openScalers(sameForAll(choice, 0.5, 1), [FACTS]);
    const idle = { waiting: 0, running: 0, inStageMs: 0, waitingMs: 0, busyMs: 0 };
    // Whole batches of 2 in 16 ms are 125 a second, half of which is 62.5.
    const wanted = scaler?.decide({ ...idle, nowMs: 15_000, target: 2, ready: 2, arrived: 3000 });
    expect(wanted).toBe(4);
  });
});
