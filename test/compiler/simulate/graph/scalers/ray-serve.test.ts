import { describe, expect, test } from "vitest";
import { decisions, replicasAt } from "../../../../support/scaler-desk.ts";

describe("Ray Serve's autoscaler", () => {
  test("has more replicas once that was so for more than half a minute", () => {
    const told = decisions("ray-serve", 2, 120, [{ fromS: 0, running: 8 }]);
    // The first metrics come after 10 s.
    expect(replicasAt(told, 39)).toBe(2);
    expect(replicasAt(told, 40)).toBe(4);
    expect(replicasAt(told, 120)).toBe(4);
  });

  test("has fewer once that was so for more than ten minutes", () => {
    const told = decisions("ray-serve", 2, 700, [{ fromS: 0, running: 1 }]);
    expect(replicasAt(told, 609)).toBe(2);
    expect(replicasAt(told, 610)).toBe(1);
  });

  test("begins to wait anew when it is not so in between", () => {
    const scenes = [
      { fromS: 0, running: 8 },
      { fromS: 20, running: 1 },
      { fromS: 40, running: 8 },
    ];
    const told = decisions("ray-serve", 2, 120, scenes);
    // The mean of 30 s is at most that of two replicas at 50, and has been more since 60.
    expect(replicasAt(told, 80)).toBe(2);
    expect(replicasAt(told, 100)).toBeGreaterThan(2);
  });
});
