/** Simulations of bundles with classes. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { simulateBaseline } from "../../../../../compiler/methods/ramsis/simulate/baselines/simulate-baseline.ts";
import {
  type SimulationOptions,
  simulate,
} from "../../../../../compiler/methods/ramsis/simulate/simulate.ts";
import { QueryClasses } from "../../../../../compiler/simulate/query-classes.ts";
import { Rng } from "../../../../../runtime/core/rng.ts";
import { withoutKinds } from "../../../../../runtime/methods/ramsis/bundle/kind-views.ts";
import { classBundle, TWO_CLASSES } from "../../../../support/class-bundle.ts";
import { tinyBundle } from "../../../../support/tiny-bundle.ts";

const OPTIONS: SimulationOptions = {
  arrivals: { kind: "poisson", qps: 60 },
  durationMs: 20_000,
  seed: 1,
  serviceTimes: "p95",
};

test("classes are drawn by their shares, the same for the same seed", () => {
  const draw = (): number[] => {
    const classes = new QueryClasses({ latencyMs: 400, classes: TWO_CLASSES }, new Rng(7, 3));
    return Array.from({ length: 10_000 }, () => classes.next());
  };
  const drawn = draw();
  expect(draw()).toEqual(drawn);
  // Five standard deviations.
  expect(drawn.filter((sloClass) => sloClass === 0).length / 10_000).toBeCloseTo(0.75, 1.3);
  expect(new QueryClasses({ latencyMs: 5 }, new Rng(7, 3)).next()).toBe(0);
});

test.each([["one queue", null] as const, ["workers of their own", [1, 1]] as const])(
  "with %s the classes add up to the whole, each judged by its own deadline",
  (_, split) => {
    fc.assert(
      fc.property(
        fc.integer({ min: 10, max: 200 }),
        fc.integer({ min: 0, max: 99 }),
        (qps, seed) => {
          const bundle = classBundle({ split });
          const arrivals = { kind: "poisson", qps } as const;
          const result = simulate(bundle, { ...OPTIONS, arrivals, seed, durationMs: 5_000 });
          const classes = Object.entries(result.byClass ?? {});
          expect(classes.map(([name]) => name)).toEqual(["interactive", "relaxed"]);
          for (const count of ["queries", "satisfied", "late", "dropped"] as const) {
            expect(classes.reduce((sum, [, one]) => sum + one[count], 0)).toBe(result[count]);
          }
          const accuracy = classes.reduce(
            (sum, [, one]) => sum + (one.accuracyPerQuery ?? 0) * one.queries,
            0,
          );
          expect(accuracy).toBeCloseTo((result.accuracyPerQuery ?? 0) * result.queries, 6);
          for (const [index, [, one]] of classes.entries()) {
            const sloMs = TWO_CLASSES[index]?.latencyMs ?? 0;
            if (one.late === 0) expect(one.latencyMs?.max ?? 0).toBeLessThanOrEqual(sloMs + 1e-6);
            else expect(one.latencyMs?.max).toBeGreaterThan(sloMs);
          }
        },
      ),
      { numRuns: 30 },
    );
  },
);

test("of two classes that are alike a bundle does as with one SLO", () => {
  const alike = TWO_CLASSES.map((sloClass) => ({ ...sloClass, latencyMs: 100 }));
  const { byClass, ...together } = simulate(classBundle({ classes: alike }), OPTIONS);
  expect(simulate(withoutKinds(classBundle({ classes: alike })), OPTIONS)).toEqual(together);
  expect(byClass?.["interactive"]?.queries).toBeGreaterThan(byClass?.["relaxed"]?.queries ?? 0);
});

test("the arrivals of a seed are the same with classes and without", () => {
  const { queries } = simulate(classBundle(), OPTIONS);
  expect(simulate(tinyBundle({ workers: 2 }), OPTIONS).queries).toBe(queries);
});

test.each(["greedy", "jellyfish", "model-switching"] as const)(
  "the baseline %s plans for the shortest deadline, and is judged by that of each class",
  (kind) => {
    const bundle = classBundle({ split: [1, 1], maxQueue: 19 });
    const arrivals = { kind: "poisson", qps: 10 } as const;
    const result = simulateBaseline(bundle, { kind }, { ...OPTIONS, arrivals });
    expect(Object.keys(result.byClass ?? {})).toEqual(["interactive", "relaxed"]);
    expect(result.byClass?.["interactive"]?.violationRate).toBeLessThan(0.05);
    expect(result.byClass?.["relaxed"]?.violationRate).toBe(0);
  },
);
