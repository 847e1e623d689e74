import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { AccordionOptions, SchedulerName } from "../../../../../runtime/bundle/schema.ts";
import { chainPlaces } from "../../../../support/accordion-chain.ts";
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

/** One after another, large and small, of high priority mostly, so that large ones have claims. */
const crowd = fc.array(
  fc.record({
    batch: fc.constantFrom(1, 1, 1, 4),
    isHigh: fc.constantFrom(true, true, true, false),
    dueInMs: fc.constantFrom(100, 150, 250, 400),
    passMs: fc.constantFrom(0, 2, 5, 11, 17),
  }),
  { minLength: 20, maxLength: 60, size: "max" },
);

function compareInCrowd(places: number, numRuns: number): void {
  const bundle = chainPlaces(places, { policy: { regrow: true, backfill: true } });
  fc.assert(
    fc.property(crowd, (queries) => {
      const driver = new AccordionDriver(bundle).start();
      const twin = new AccordionDriver(bundle, { scheduler: new NaiveAccordion(bundle) }).start();
      for (const { passMs, ...query } of queries) {
        for (const one of [driver, twin]) {
          one.ask(query);
          one.passTo(one.nowMs + passMs);
        }
        isSame(driver.news(), twin.news());
      }
      driver.settle();
      twin.settle();
      isSame(driver.news(), twin.news());
    }),
    { numRuns },
  );
}

describe("the scheduler and its naive twin command the same", () => {
  test.each([5, 8])("where large queries have claims, on %i places", (places) => {
    compareInCrowd(places, 60);
  });

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
