import { describe, expect, test } from "vitest";
import { decisions, FACTS, replicasAt } from "../../../../support/scaler-desk.ts";

const quick = { ...FACTS, startMs: 0 };

describe("INFaaS' autoscaler of stages", () => {
  test("has instances for the load of the last second at once", () => {
    const scenes = [
      { fromS: 0, qps: 200 },
      { fromS: 10, qps: 400 },
    ];
    const told = decisions("infaas", 1, 20, scenes, { facts: quick });
    expect(replicasAt(told, 10)).toBe(2);
    expect(replicasAt(told, 11)).toBe(4);
  });

  test("keeps a part of one more for as long as one takes to load", () => {
    const told = decisions("infaas", 1, 5, [{ fromS: 0, qps: 200 }]);
    expect(replicasAt(told, 5)).toBe(3);
  });

  test("lets one go when the others could have carried the load for ten seconds", () => {
    const facts = { ...quick, replicas: 3 };
    const told = decisions("infaas", 1, 40, [{ fromS: 0, qps: 120 }], { facts });
    expect(replicasAt(told, 10)).toBe(3);
    expect(replicasAt(told, 11)).toBe(2);
    expect(replicasAt(told, 21)).toBe(1);
    expect(replicasAt(told, 40)).toBe(1);
  });
});
