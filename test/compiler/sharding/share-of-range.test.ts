import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { chooseLevels, type GapOf } from "../../../compiler/levels/adaptive-levels.ts";
import type { SolvedLevel } from "../../../compiler/methods/method.ts";
import { ramsisGap } from "../../../compiler/methods/ramsis/promises.ts";
import { readShard, shareOfList } from "../../../compiler/sharding/shard.ts";
import { solveShareOfRange } from "../../../compiler/sharding/share-of-range.ts";
import type { RamsisLevel } from "../../../runtime/bundle/schema.ts";
import { tinyBundle } from "../../support/tiny-bundle.ts";

const [pattern] = tinyBundle({ loadsQps: [1] }).levels;

/** Accuracy is all that counts here: it falls with the load, in slopes and jumps. */
interface Curve {
  readonly slopes: readonly number[];
  readonly jumpAt: number;
}

const RANGE = { fromQps: 100, toQps: 1100, maxAccuracyStep: 0.02 };

function accuracyAt(loadQps: number, { slopes, jumpAt }: Curve): number {
  const part = (loadQps - RANGE.fromQps) / (RANGE.toQps - RANGE.fromQps);
  const at = part * slopes.length;
  const fallen = slopes.reduce((sum, slope, index) => {
    return sum + slope * Math.min(1, Math.max(0, at - index));
  }, 0);
  return 1 - fallen - (loadQps > jumpAt ? 0.1 : 0);
}

function levelAt(loadQps: number, curve: Curve): SolvedLevel {
  if (pattern === undefined) throw new Error("a tiny bundle has a level");
  const accuracyPerQuery = accuracyAt(loadQps, curve);
  const expected = {
    ...pattern.expected,
    accuracyPerQuery,
    accuracyPerSatisfied: accuracyPerQuery,
  };
  return { level: { ...pattern, loadQps, feasible: true, expected }, ms: 1 };
}

const gapOf: GapOf = (a, b) => ramsisGap(a as RamsisLevel, b as RamsisLevel);
const step = { maxAccuracyStep: RANGE.maxAccuracyStep, gapOf };

async function solvedBy(curve: Curve, number: number, of: number): Promise<number[]> {
  const asked: number[] = [];
  const found = await solveShareOfRange(RANGE, step, { number, of }, async (loadsQps) => {
    asked.push(...loadsQps);
    return loadsQps.map((loadQps) => levelAt(loadQps, curve));
  });
  if ("code" in found) throw new Error(found.message);
  expect(found.map(({ level }) => level.loadQps)).toEqual([...asked].sort((a, b) => a - b));
  return asked;
}

const curves = fc.record({
  slopes: fc.array(fc.double({ min: 0, max: 0.15, noNaN: true }), { minLength: 1, maxLength: 5 }),
  jumpAt: fc.double({ min: 0, max: 1200, noNaN: true }),
});

describe("shards of a range in which levels place themselves", () => {
  test("solve together just what a compile in one place solves", async () => {
    await fc.assert(
      fc.asyncProperty(curves, fc.integer({ min: 1, max: 40 }), async (curve, of) => {
        const alone: number[] = [];
        await chooseLevels(RANGE, gapOf, async (loadsQps) => {
          alone.push(...loadsQps);
          return loadsQps.map((loadQps) => levelAt(loadQps, curve));
        });
        const together = new Set<number>();
        for (let number = 1; number <= of; number++) {
          const own = await solvedBy(curve, number, of);
          expect(new Set(own).size).toBe(own.length);
          for (const loadQps of own) together.add(loadQps);
        }
        expect([...together].sort((a, b) => a - b)).toEqual(alone.sort((a, b) => a - b));
      }),
      { numRuns: 60 },
    );
  });

  test("share out most of the levels", async () => {
    const curve = { slopes: [0.9], jumpAt: 5000 };
    const alone = await solvedBy(curve, 1, 1);
    const shares = await Promise.all([1, 2, 3, 4].map((number) => solvedBy(curve, number, 4)));
    const most = Math.max(...shares.map(({ length }) => length));
    // All solve the two ends and the seven cuts of the first round.
    expect(most).toBeLessThanOrEqual(9 + Math.ceil((alone.length - 9) / 4) + 1);
  });

  test("refuse a step that takes too many levels", async () => {
    const fine = { maxAccuracyStep: 1e-4, gapOf };
    const curve = { slopes: [0.5], jumpAt: 5000 };
    const found = await solveShareOfRange(RANGE, fine, { number: 2, of: 3 }, async (loadsQps) => {
      return loadsQps.map((loadQps) => levelAt(loadQps, curve));
    });
    expect(found).toMatchObject({ code: "INPUT_INVALID_VALUE" });
  });
});

describe("shards of a list", () => {
  test("have each item once, and differ by one at most", () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.nat()), fc.integer({ min: 1, max: 20 }), (items, of) => {
        const shares = Array.from({ length: of }, (_, index) => {
          return shareOfList(items, { number: index + 1, of });
        });
        expect(shares.flat().sort()).toEqual([...items].sort());
        const counts = shares.map(({ length }) => length);
        expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1);
      }),
    );
  });

  test("are read from texts such as 3/7, and from no other", () => {
    expect(readShard("3/7")).toEqual({ number: 3, of: 7 });
    expect(readShard("1/1")).toEqual({ number: 1, of: 1 });
    for (const text of [
      "0/7",
      "8/7",
      "3",
      "3/",
      "/7",
      "3/10001",
      "a/7",
      "3/7/9",
      "-1/7",
      "3.0/7",
    ]) {
      expect(readShard(text)).toBeUndefined();
    }
  });
});
