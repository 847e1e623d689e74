/** The dispatcher of replicas, of a diamond in two pools whose stages change places. */
import {
  comeToRest,
  DIAMOND,
  playStages,
  repair,
  stageEvents,
} from "../../../support/stage-events.ts";
import type { CoreSubject } from "../core.ts";
import { countedBy } from "../counted.ts";

export const inferlineCore: CoreSubject = {
  runs: 250,
  mustHappen: ["start", "assign", "release"],
  stories: stageEvents.map((events) => ({
    play: () => {
      const { driver } = playStages(events);
      return {
        bundle: DIAMOND,
        log: driver.log,
        happened: countedBy(driver.log, (line) => line.split(" ")[0]),
        end: (gone) => {
          repair(driver);
          for (const worker of gone) if (worker < driver.states.length) driver.lose(worker);
          comeToRest(driver);
          const { requests, done, failed, waitingCount } = driver;
          // One that was done twice, or failed as well, is one too many.
          return { came: requests, ended: done.length + failed.size, waiting: waitingCount };
        },
      };
    },
  })),
};
