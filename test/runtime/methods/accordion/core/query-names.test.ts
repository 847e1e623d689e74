/** What queries are called is the driver's to choose. */
import fc from "fast-check";
import { expect, test } from "vitest";
import type { AccordionBundle } from "../../../../../runtime/bundle/schema.ts";
import { PlaceDriver, type PlaceDriverOptions } from "../../../../support/place-driver.ts";
import { type Event, happen, placeEvents } from "../../../../support/place-events.ts";
import { randomPlaces } from "../../../../support/random-places.ts";

function run(
  bundle: AccordionBundle,
  steps: readonly Event[],
  options: PlaceDriverOptions = {},
): PlaceDriver {
  const driver = new PlaceDriver(bundle, options).start();
  for (const step of steps) happen(driver, step);
  return driver;
}

test("names of queries mean nothing, whatever happens", () => {
  fc.assert(
    fc.property(randomPlaces(), placeEvents(), (bundle, steps) => {
      const options = { queryCapacity: 200 };
      expect(run(bundle, steps, options).log).toEqual(run(bundle, steps).log);
    }),
    { numRuns: 15 },
  );
});
