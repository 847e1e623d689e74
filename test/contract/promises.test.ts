/** What holds of the promises of every method, in the terms that gates compare. */
import { describe, expect, test } from "vitest";
import { compare } from "../../compiler/gate/compare.ts";
import { promisedBundle } from "../../compiler/gate/promised-bundle.ts";
import { methodOf } from "../../compiler/methods/registry.ts";
import { isLevelFigure, LEVEL_FIGURES } from "../../compiler/spec/schema/promise-figures.ts";
import type { Level } from "../../runtime/bundle/schema.ts";
import { levelReports } from "../../runtime/bundles/inspect.ts";
import { BY_METHOD } from "./subjects.ts";

describe.each(BY_METHOD)("the promises of %s", (_, { shown }) => {
  const { bundle } = shown;
  const levels: readonly Level[] = bundle.levels;

  test("are of each level, as its reports have them", async () => {
    const method = await methodOf(bundle);
    const { levels: promised } = await promisedBundle(bundle, 1);
    expect(levelReports(bundle)).toMatchObject(
      promised.map(({ loadQps, feasible }) => ({ loadQps, feasible })),
    );
    for (const [index, { figures, missed, feasible }] of promised.entries()) {
      const level = levels[index];
      if (level === undefined) throw new Error("one for each level");
      const worst = method.worstViolationRate(level);
      expect(figures.violations).toBeLessThanOrEqual(worst);
      if (feasible) expect(missed).toEqual([]);
    }
  });

  test("are amounts of known figures in their ranges, of violations at least", async () => {
    const { levels: promised } = await promisedBundle(bundle, 1);
    for (const { figures, classes, buckets } of promised) {
      for (const own of [figures, ...[...classes, ...buckets].map((part) => part.figures)]) {
        expect(own.violations).toBeGreaterThanOrEqual(0);
        for (const [name, amount] of Object.entries(own)) {
          const isKnown = isLevelFigure(name);
          expect([name, isKnown, Number.isFinite(amount), amount >= 0]).toEqual([
            ...[name, true, true, true],
          ]);
          if (isKnown && LEVEL_FIGURES[name].unit === "ratio") {
            expect(amount).toBeLessThanOrEqual(1);
          }
        }
      }
    }
  });

  test("are no worse than themselves", async () => {
    const promised = await promisedBundle(bundle, 1);
    for (const { verdict } of compare(promised, promised, [])) expect(verdict).toBe("same");
  });
});
