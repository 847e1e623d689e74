import { describe, expect, test } from "vitest";
import { tuneScaler } from "../../../../../compiler/simulate/graph/scalers/tune-scaler.ts";

/** Money falls with every target, and violations come where a stage has too high a one. */
function frameOf(most: readonly number[]) {
  return {
    name: "hpa",
    stageCount: most.length,
    plans: [0, 1],
    ceiling: 0.01,
    measure(plan: number, { targets }: { readonly targets: readonly number[] }) {
      const isLate = targets.some((target, stage) => target > (most[stage] ?? 0));
      const cost = targets.reduce((sum, target) => sum + 1 / target, plan);
      return { violationRate: isLate ? 0.5 : 0.001, cost };
    },
  } as const;
}

describe("hindsight", () => {
  test("takes the cheapest setting within the ceiling, stage by stage", () => {
    const [best] = tuneScaler(frameOf([0.3, 0.7]));
    expect(best?.setting.targets).toEqual([0.3, 0.7]);
    expect(best?.plan).toBe(0);
    expect(best?.trial.violationRate).toBe(0.001);
  });

  test("takes the one with the fewest violations where none is within it", () => {
    const frame = {
      ...frameOf([1]),
      measure: (plan: number) => ({ violationRate: 0.2 - plan / 10, cost: plan }),
    };
    const tried = tuneScaler(frame);
    expect(tried[0]).toMatchObject({ plan: 1, trial: { violationRate: 0.1 } });
    // Every plan, with every choice of options; no lower target helps.
    expect(tried.map(({ setting }) => Math.min(...setting.targets))).toContain(0.1);
  });
});
