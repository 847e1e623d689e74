/** The scheduler of execution places, of random models. */
import fc from "fast-check";
import { AccordionDriver } from "../../../support/accordion-driver.ts";
import { accordionEvents, happen } from "../../../support/accordion-events.ts";
import { randomPlaces } from "../../../support/accordion-random.ts";
import { hold } from "../../../support/hold.ts";
import type { CoreSubject } from "../core.ts";
import { countedBy } from "../counted.ts";

export const accordionCore: CoreSubject = {
  runs: 250,
  mustHappen: ["done", "cancel", "late", "no-place", "places-lost", "shrink", "grow"],
  stories: fc.tuple(randomPlaces(), accordionEvents()).map(([bundle, events]) => ({
    play: () => {
      const driver = new AccordionDriver(bundle).start();
      for (const event of events) happen(driver, event);
      const { log, shrinkCount, growCount } = driver;
      const happened = countedBy(log, (line) =>
        line.includes("drop") ? line.split(" ").at(-1) : line.split(" ")[1],
      );
      happened.set("shrink", shrinkCount).set("grow", growCount);
      return { log, happened, end: (gone) => endOf(driver, gone) };
    },
  })),
};

function endOf(driver: AccordionDriver, gone: readonly number[]) {
  driver.start();
  for (const place of gone) driver.lose(place);
  driver.settle();
  const { scheduler, ends, queries, freePlaces, upPlaces } = driver;
  hold(String(freePlaces) === String(upPlaces), "in the end all places are free");
  hold(scheduler.wakeMs === Number.POSITIVE_INFINITY, "nothing is waited for");
  hold(scheduler.activeCount + scheduler.busyPlaceCount === 0, "nothing runs");
  const waiting = scheduler.waitingCount;
  return { came: ends.size + queries.size, ended: ends.size, waiting };
}
