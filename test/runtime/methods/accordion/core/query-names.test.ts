/** What queries are called is the driver's to choose. */
import fc from "fast-check";
import { expect, test } from "vitest";
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

test("names of queries mean nothing, whatever happens", () => {
  fc.assert(
    fc.property(randomPlaces(), accordionEvents(), (bundle, steps) => {
      const options = { queryCapacity: 200 };
      expect(run(bundle, steps, options).log).toEqual(run(bundle, steps).log);
    }),
    { numRuns: 15 },
  );
});
