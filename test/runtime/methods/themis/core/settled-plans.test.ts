/** Where instances are in the end, and how few names of queries do, whatever happened before. */
import fc from "fast-check";
import { expect, test } from "vitest";
import type { ThemisBundle } from "../../../../../runtime/bundle/schema.ts";
import { coreBudgetOf } from "../../../../../runtime/methods/themis/core/shape.ts";
import { comeToRest, playScales, repair, scaleEvents } from "../../../../support/scale-events.ts";
import { ThemisDriver } from "../../../../support/themis-driver.ts";
import { randomThemisBundle } from "../../../../support/themis-random-bundle.ts";

test("few names for queries do not make the commands overflow", () => {
  fc.assert(
    fc.property(
      randomThemisBundle(),
      scaleEvents,
      fc.integer({ min: 1, max: 30 }),
      (bundle, steps, few) => {
        const { workerCount } = new ThemisDriver(bundle).dispatcher;
        // As many as run, those of a batch that is handed in, and a few that wait.
        const driver = playScales(bundle, steps, {
          queryCapacity: (workerCount + 1) * 4 + few,
        });
        expect(driver.dispatcher.waitingCapacity).toBe(few);
      },
    ),
    { numRuns: 100 },
  );
});

test("when nothing comes any more, instances are as in the lowest plan there is room for", () => {
  const ends: number[] = [];
  fc.assert(
    fc.property(randomThemisBundle(), scaleEvents, (bundle, steps) => {
      const driver = playScales(bundle, [...steps, { kind: "request", task: 0, count: 1 }]);
      repair(driver);
      for (let round = 0; round < 30; round++) {
        driver.dispatcher.onForecast(0);
        driver.passTo(driver.nowMs + 4000);
        comeToRest(driver, bundle);
      }
      const level = settledLevel(driver, bundle);
      ends.push(level);
      expect(level).not.toBe(-1);
      for (let lower = 0; lower < level; lower++) {
        expect(coresBeside(bundle, level, lower)).toBeGreaterThan(coreBudgetOf(bundle));
      }
    }),
    { numRuns: 300 },
  );
  expect(ends.filter((level) => level === 0).length).toBeGreaterThan(250);
});

/** The lowest level whose plan is what there is; −1 if it is none. */
function settledLevel(driver: ThemisDriver, bundle: ThemisBundle): number {
  return bundle.levels.findIndex(({ steady }) =>
    steady.stages.every(({ cores, instances }, task) => {
      const all = driver.ofTask(task);
      return all.length === instances && all.every((one) => one.inForce === cores);
    }),
  );
}

/** What the instances of one plan take and those that another one has more. */
function coresBeside({ levels }: ThemisBundle, level: number, other: number): number {
  const stages = levels[level]?.steady.stages ?? [];
  return stages.reduce((sum, { cores, instances }, task) => {
    const to = levels[other]?.steady.stages[task] ?? { cores: 0, instances: 0 };
    const more = Math.max(0, to.instances - instances);
    return sum + instances * Math.max(cores, to.cores) + more * to.cores;
  }, 0);
}
