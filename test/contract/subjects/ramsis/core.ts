/** Dispatchers of tables: one queue for each worker, one for all, classes, and buckets. */
import { TableDriver, tableStories, tablesOf } from "../../../support/table-driver.ts";
import type { CoreSubject, Played } from "../core.ts";

export const ramsisCore: CoreSubject = {
  runs: 400,
  mustHappen: ["started", "dropped", "no worker", "lost", "cancelled"],
  stories: tableStories.map(({ events, ...sketch }) => ({
    play: () => {
      const bundle = tablesOf(sketch);
      const driver = new TableDriver(bundle, sketch.startsReady);
      for (const event of events) driver.play(event);
      return { bundle, ...playedBy(driver) };
    },
  })),
};

function playedBy(driver: TableDriver): Played {
  return {
    log: driver.log,
    happened: driver.happened,
    end(gone) {
      for (const worker of gone) if (driver.up.has(worker)) driver.lose(worker);
      for (const worker of [...driver.down]) if (!gone.includes(worker)) driver.bringUp(worker);
      while (driver.running.size > 0 || driver.dispatcher.wakeMs < Number.POSITIVE_INFINITY) {
        for (const worker of [...driver.running.keys()]) driver.finish(worker);
        driver.passTo(driver.nowMs + 10);
      }
      const { arrivals, settled, waiting } = driver;
      return { came: arrivals, ended: settled.size, waiting: waiting.size };
    },
  };
}
