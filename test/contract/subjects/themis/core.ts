/** The dispatcher of cores and instances, of random pipelines. */
import fc from "fast-check";
import { comeToRest, playScales, repair, scaleEvents } from "../../../support/scale-events.ts";
import { randomThemisBundle } from "../../../support/themis-random-bundle.ts";
import type { CoreSubject } from "../core.ts";
import { countedBy } from "../counted.ts";

export const themisCore: CoreSubject = {
  runs: 250,
  mustHappen: ["start", "drop", "assign", "release", "resize"],
  stories: fc.tuple(randomThemisBundle(), scaleEvents).map(([bundle, events]) => ({
    play: () => {
      const driver = playScales(bundle, events);
      return {
        bundle,
        log: driver.log,
        happened: countedBy(driver.log, (line) => line.split(" ")[0]),
        end: (gone) => {
          repair(driver);
          for (const worker of gone) driver.lose(worker);
          comeToRest(driver, bundle);
          const { served, lost, cancelled, dropped, queries, waitingCount } = driver;
          const ended = [...served, ...lost, ...cancelled, ...dropped.map(({ query }) => query)];
          if (new Set(ended).size !== ended.length) throw new Error("a query ended twice");
          return { came: queries.length, ended: ended.length, waiting: waitingCount };
        },
      };
    },
  })),
};
