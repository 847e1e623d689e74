import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { AccordionBundle } from "../../../../../runtime/bundle/schema.ts";
import {
  AccordionDriver,
  type AccordionDriverOptions,
} from "../../../../support/accordion-driver.ts";
import { accordionEvents, type Event, happen } from "../../../../support/accordion-events.ts";
import { randomPlaces } from "../../../../support/accordion-random.ts";

function run(
  bundle: AccordionBundle,
  steps: readonly Event[],
  options: AccordionDriverOptions = {},
): AccordionDriver {
  const driver = new AccordionDriver(bundle, options).start();
  for (const step of steps) happen(driver, step);
  return driver;
}

describe("whatever happens", () => {
  test("every query is done, dropped or cancelled, just once, and all places are free in the end", () => {
    const ends = new Map<string, number>();
    const count = (what: string, by = 1) => ends.set(what, (ends.get(what) ?? 0) + by);
    fc.assert(
      fc.property(randomPlaces(), accordionEvents(), (bundle, steps) => {
        // The driver checks much more with every event.
        const driver = run(bundle, steps);
        driver.settle();
        const { scheduler } = driver;
        expect(scheduler.activeCount + scheduler.waitingCount + scheduler.busyPlaceCount).toBe(0);
        expect(driver.freePlaces).toEqual(driver.upPlaces);
        expect(scheduler.wakeMs).toBe(Number.POSITIVE_INFINITY);
        for (const end of driver.ends.values()) count(end);
        for (const line of driver.log) if (line.includes("drop")) count(line.replace(/^.* /u, ""));
        count("shrink", driver.shrinkCount);
        count("grow", driver.growCount);
      }),
      { numRuns: 250 },
    );
    // Else these properties would say little.
    for (const what of ["done", "cancel", "late", "no-place", "places-lost", "shrink", "grow"]) {
      expect([what, (ends.get(what) ?? 0) > 20]).toEqual([what, true]);
    }
  });

  test("the same events give the same commands", () => {
    fc.assert(
      fc.property(randomPlaces(), accordionEvents(), (bundle, steps) => {
        expect(run(bundle, steps).log).toEqual(run(bundle, steps).log);
      }),
      { numRuns: 15 },
    );
  });

  test("names of queries mean nothing", () => {
    fc.assert(
      fc.property(randomPlaces(), accordionEvents(), (bundle, steps) => {
        const options = { queryCapacity: 200 };
        expect(run(bundle, steps, options).log).toEqual(run(bundle, steps).log);
      }),
      { numRuns: 15 },
    );
  });
});
