import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { AccordionOptions, SchedulerName } from "../../../../../runtime/bundle/schema.ts";
import { AccordionDriver } from "../../../../support/accordion-driver.ts";
import { accordionEvents, happen } from "../../../../support/accordion-events.ts";
import { randomPlaces } from "../../../../support/accordion-random.ts";
import { NaiveAccordion } from "../../../../support/naive-accordion.ts";

/** Bundles of so many pools: the same events give the same commands in both, and times to wake. */
function compare(poolCount: number, policy: Partial<AccordionOptions>, numRuns: number): void {
  fc.assert(
    fc.property(randomPlaces({ poolCount, policy }), accordionEvents(), (bundle, steps) => {
      const driver = new AccordionDriver(bundle).start();
      const scheduler = new NaiveAccordion(bundle);
      const twin = new AccordionDriver(bundle, { scheduler }).start();
      for (const step of steps) {
        happen(driver, step);
        happen(twin, step);
        isSame(driver.news(), twin.news());
        isSame([driver.scheduler.wakeMs], [scheduler.wakeMs]);
      }
      driver.settle();
      twin.settle();
      isSame(driver.news(), twin.news());
    }),
    { numRuns },
  );
}

/** `expect` takes too long for so many events. */
function isSame(one: readonly unknown[], other: readonly unknown[]): void {
  if (one.join("\n") !== other.join("\n")) expect(one).toEqual(other);
}

describe("the scheduler and its naive twin command the same", () => {
  test.each([
    [1, 70],
    [2, 60],
    [3, 20],
  ])("with queries that shrink on %i pools", (poolCount, numRuns) => {
    compare(poolCount, { scheduler: "accordion" }, numRuns);
  });

  test.each<SchedulerName>(["slo-conforming", "fastest", "one-stage"])("as %s", (scheduler) => {
    compare(2, { scheduler }, 10);
  });
});
