import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  type AdaptiveLoads,
  type ChosenLevels,
  chooseLevels,
} from "../../../compiler/levels/adaptive-levels.ts";
import type { SolvedLevel } from "../../../compiler/methods/method.ts";
import { ramsisGap } from "../../../compiler/methods/ramsis/promises.ts";
import type { RamsisLevel } from "../../../runtime/bundle/schema.ts";
import { tinyBundle } from "../../support/tiny-bundle.ts";

interface Promised {
  readonly accuracy: number;
  readonly perSatisfied?: number;
  readonly feasible?: boolean;
}

const gapOf = (a: SolvedLevel["level"], b: SolvedLevel["level"]) =>
  ramsisGap(a as RamsisLevel, b as RamsisLevel);

type Curve = (loadQps: number) => Promised;

/** A level with the accuracy that a curve promises. */
function levelOf(loadQps: number, curve: Curve): SolvedLevel {
  const { accuracy, perSatisfied = accuracy, feasible = true } = curve(loadQps);
  const [level] = tinyBundle({ loadsQps: [loadQps] }).levels;
  if (level === undefined) throw new Error("a tiny bundle has a level");
  const expected = {
    ...level.expected,
    accuracyPerQuery: accuracy,
    accuracyPerSatisfied: perSatisfied,
  };
  return { level: { ...level, expected, feasible }, ms: 1 };
}

async function place(loads: AdaptiveLoads, curve: Curve) {
  const rounds: number[][] = [];
  const result = await chooseLevels(loads, gapOf, async (loadsQps, round) => {
    expect(round).toBe(rounds.push([...loadsQps]));
    return loadsQps.map((loadQps) => levelOf(loadQps, curve));
  });
  return { result, rounds };
}

async function placed(loads: AdaptiveLoads, curve: Curve): Promise<ChosenLevels> {
  const { result } = await place(loads, curve);
  if ("code" in result) throw new Error(result.message);
  return result;
}

function loadsOf({ levels }: ChosenLevels): number[] {
  return levels.map(({ level }) => level.loadQps);
}

function stepsOf({ levels }: ChosenLevels, key: "accuracyPerQuery" | "accuracyPerSatisfied") {
  return levels.slice(1).map(({ level }, index) => {
    const before = levels[index]?.level as RamsisLevel;
    return Math.abs((level as RamsisLevel).expected[key] - before.expected[key]);
  });
}

const RANGE = { fromQps: 100, toQps: 1100, maxAccuracyStep: 0.1 };
const linear: Curve = (loadQps) => ({ accuracy: 0.95 - 0.00047 * loadQps });

describe("adaptive levels", () => {
  test("keep neighbours of a smooth curve less than the step apart, at round loads", async () => {
    const result = await placed(RANGE, linear);
    expect(loadsOf(result)).toEqual([100, 300, 500, 700, 900, 1100]);
    expect(result.placement).toMatchObject({ rounds: 2, jumps: [] });
  });

  test("need only the ends where accuracy hardly changes", async () => {
    const result = await placed(RANGE, () => ({ accuracy: 0.8 }));
    expect(loadsOf(result)).toEqual([100, 1100]);
    expect(result.placement.solved).toBe(2);
    const point = await placed({ ...RANGE, toQps: 100 }, linear);
    expect(loadsOf(point)).toEqual([100]);
  });

  test("are dense only where accuracy changes", async () => {
    const knee: Curve = (loadQps) => ({ accuracy: 0.9 - 0.004 * Math.max(0, loadQps - 1000) });
    const loads = loadsOf(await placed({ ...RANGE, maxAccuracyStep: 0.05 }, knee));
    expect(loads.filter((loadQps) => loadQps < 950)).toHaveLength(1);
    expect(loads.filter((loadQps) => loadQps > 950).length).toBeGreaterThanOrEqual(8);
  });

  test("stop at a jump and report it", async () => {
    const jump: Curve = (loadQps) => ({ accuracy: loadQps < 700.3 ? 0.9 : 0.5 });
    const result = await placed(RANGE, jump);
    const [only, ...more] = result.placement.jumps;
    expect(more).toEqual([]);
    expect(only?.accuracyStep).toBeCloseTo(0.4, 12);
    expect(only?.fromQps).toBeLessThan(700.3);
    expect(only?.toQps).toBeGreaterThan(700.3);
    expect((only?.toQps ?? 0) - (only?.fromQps ?? 0)).toBeLessThan(0.0011 * 1100);
    expect(loadsOf(result)).toEqual([100, only?.fromQps, only?.toQps, 1100]);
  });

  test("compare both accuracies, per query and per satisfied query", async () => {
    const late: Curve = (loadQps) => ({ accuracy: 0.5, perSatisfied: 0.9 - 0.0005 * loadQps });
    const result = await placed(RANGE, late);
    expect(Math.max(...stepsOf(result, "accuracyPerSatisfied"))).toBeLessThan(0.1);
  });

  test("keep the highest load that is feasible", async () => {
    const limited: Curve = (loadQps) => ({ ...linear(loadQps), feasible: loadQps <= 820 });
    const result = await placed(RANGE, limited);
    const { rounds } = await place(RANGE, limited);
    const highest = Math.max(...rounds.flat().filter((loadQps) => loadQps <= 820));
    expect(loadsOf(result)).toContain(highest);
  });

  test("refuse a step that takes too many levels, before solving them", async () => {
    for (const maxAccuracyStep of [1e-7, 6e-4]) {
      const { result, rounds } = await place({ ...RANGE, maxAccuracyStep }, linear);
      expect(result).toMatchObject({
        code: "INPUT_INVALID_VALUE",
        path: ["workload", "loads", "maxAccuracyStep"],
      });
      expect(rounds.flat().length).toBeLessThanOrEqual(1000);
      if (maxAccuracyStep === 1e-7) expect(rounds).toHaveLength(1);
    }
  });

  test("on any curve the step holds except at jumps, and stand-ins fill gaps", async () => {
    const cases = fc.record({
      fromQps: fc.double({ min: 0.01, max: 5000, noNaN: true }),
      ratio: fc.double({ min: 1, max: 100, noNaN: true }),
      maxAccuracyStep: fc.double({ min: 0.02, max: 1, noNaN: true }),
      knots: fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 2, maxLength: 6 }),
    });
    await fc.assert(
      fc.asyncProperty(cases, async ({ fromQps, ratio, maxAccuracyStep, knots }) => {
        const toQps = fromQps * ratio;
        const curve = stepsAndSlopes(fromQps, toQps, knots);
        const { result, rounds } = await place({ fromQps, toQps, maxAccuracyStep }, curve);
        if ("code" in result) throw new Error(result.message);
        const loads = loadsOf(result);
        expect(loads).toEqual([...new Set(loads)].sort((a, b) => a - b));
        expect([loads[0], loads.at(-1)]).toEqual([fromQps, toQps]);
        const jumps = new Set(result.placement.jumps.map((jump) => jump.fromQps));
        for (const [index, step] of stepsOf(result, "accuracyPerQuery").entries()) {
          expect(step >= maxAccuracyStep).toBe(jumps.has(loads[index] ?? Number.NaN));
        }
        for (const loadQps of rounds.flat()) {
          const decides = loads.find((level) => level >= loadQps) ?? Number.NaN;
          const lost = Math.abs(curve(loadQps).accuracy - curve(decides).accuracy);
          expect(lost < maxAccuracyStep).toBe(true);
        }
      }),
    );
  });
});

/**
 * Falls, rises and jumps: linear between every other pair of knots, constant between the others.
 */
function stepsAndSlopes(fromQps: number, toQps: number, knots: readonly number[]): Curve {
  return (loadQps) => {
    const position = ((loadQps - fromQps) / (toQps - fromQps || 1)) * (knots.length - 1);
    const knot = Math.min(knots.length - 2, Math.floor(position));
    const [before = 0, after = 0] = [knots[knot], knots[knot + 1]];
    const share = knot % 2 === 0 ? position - knot : 0;
    return { accuracy: before + share * (after - before) };
  };
}
