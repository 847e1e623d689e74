/**
 * Accordion's decisions at 64 places and 64 running queries of Table 1, and simulations of
 * 10-minute streams.
 */

import { simulateAccordion } from "stratagem/internal/methods/accordion/simulate/simulate";
import type { AccordionOptions } from "stratagem-runtime/internal/bundle/schema";
import {
  AccordionCommands,
  RESHAPE,
  START,
} from "stratagem-runtime/internal/methods/accordion/core/commands";
import { AccordionScheduler } from "stratagem-runtime/internal/methods/accordion/core/scheduler";
import { bench, describe } from "vitest";
import { table1Bundle } from "../../test/support/accordion-bundle.ts";

const PLACES = 64;
const RESNET_152 = 2;
const ALWAYS_MS = 1e9;

/**
 * Places that are up, of which a number of running queries that have time take all. Names from
 * `queries` on are free.
 */
function busyScheduler(
  queries: number,
  policy: Partial<AccordionOptions> = {},
): { scheduler: AccordionScheduler; commands: AccordionCommands } {
  const bundle = table1Bundle({
    places: PLACES,
    maxBatch: 256,
    sloMs: ALWAYS_MS,
    policy: { dropAfterSlos: null, ...policy },
  });
  const scheduler = new AccordionScheduler(bundle, { queryCapacity: 256 });
  const commands = new AccordionCommands();
  for (let place = 0; place < PLACES; place++) scheduler.onPlaceReady(place, 0, commands);
  for (let query = 0; query < queries; query++) {
    commands.clear();
    scheduler.onQuery(query, LONG, 0, commands);
  }
  commands.clear();
  must(
    scheduler.activeCount === queries && scheduler.busyPlaceCount === PLACES,
    "all places are busy",
  );
  return { scheduler, commands };
}

function must(condition: boolean, message: string): void {
  if (!condition) throw new Error(`${message}, so this is not the case to measure`);
}

const LONG = { model: RESNET_152, batch: 200, isHigh: true, deadlineMs: ALWAYS_MS };
const EASY = { model: 0, batch: 1, isHigh: true, deadlineMs: ALWAYS_MS };

describe(`decisions, ${PLACES} places`, () => {
  const shrinking = busyScheduler(PLACES - 1);
  bench(
    "an arrival for which one of 63 running queries shrinks, and three events that undo it",
    () => {
      const { scheduler, commands } = shrinking;
      scheduler.onQuery(200, EASY, 1, commands);
      must(commands.kind(0) === RESHAPE && commands.kind(1) === START, "one shrinks");
      const giver = commands.query(0);
      scheduler.onCancel(200, 1, commands);
      scheduler.onCancel(giver, 1, commands);
      scheduler.onQuery(giver, LONG, 1, commands);
      must(scheduler.busyPlaceCount === PLACES, "it has both places again");
      commands.clear();
    },
  );

  const growing = busyScheduler(PLACES - 1, { regrow: true });
  bench("the same by growing", () => {
    const { scheduler, commands } = growing;
    scheduler.onQuery(200, EASY, 1, commands);
    must(commands.kind(0) === RESHAPE && commands.kind(1) === START, "one shrinks");
    scheduler.onCancel(200, 1, commands);
    must(commands.kind(2) === RESHAPE && scheduler.busyPlaceCount === PLACES, "one grows");
    commands.clear();
  });

  const full = busyScheduler(PLACES);
  bench("an arrival that looks at 64 running queries and waits, and its cancelling", () => {
    const { scheduler, commands } = full;
    scheduler.onQuery(200, EASY, 1, commands);
    must(scheduler.waitingCount === 1, "nobody has a place to give");
    scheduler.onCancel(200, 1, commands);
    commands.clear();
  });

  const predicting = busyScheduler(PLACES, { dropAfterSlos: 1 });
  bench("the same, foretold by when it would be done", () => {
    const { scheduler, commands } = predicting;
    scheduler.onQuery(200, EASY, 1, commands);
    scheduler.onCancel(200, 1, commands);
    commands.clear();
  });

  const instances = busyScheduler(PLACES - 1);
  bench("256 instances of a query, from its start to its end", () => {
    const { scheduler, commands } = instances;
    scheduler.onQuery(200, { ...EASY, batch: 256 }, 1, commands);
    for (let done = 0; done < 256; done++) scheduler.onInstanceDone(200, 1, commands);
    must(scheduler.activeCount === PLACES - 1, "it is done");
    commands.clear();
  });

  const completing = busyScheduler(PLACES);
  let next = PLACES;
  let last = 0;
  bench("a query that ends and one that takes its place", () => {
    const { scheduler, commands } = completing;
    scheduler.onQuery(next, EASY, 1, commands);
    scheduler.onCancel(last, 1, commands);
    must(commands.kind(0) === START, "the one that waits begins");
    commands.clear();
    last = next;
    next = next === 255 ? PLACES : next + 1;
  });
});

/** Mean instances of the streams of few, middling and many queries. */
for (const meanBatch of [1, 20, 100]) {
  describe(`a stream of 10 minutes at offered load 1, mean batch ${meanBatch}`, () => {
    for (const scheduler of [
      "accordion",
      "slo-conforming",
      "fastest",
      "bbs",
      "one-stage",
    ] as const) {
      const bundle = table1Bundle({
        places: PLACES,
        maxBatch: 1024,
        sloMs: 6000 * meanBatch,
        policy: { meanBatch, scheduler },
      });
      // 2303 ms is the mean over the models of an instance on one place; batches of mean 1 have
      // 1.16 once they are whole.
      const qps = (1000 * PLACES) / (2303 * Math.max(1.16, meanBatch));
      bench(scheduler, () => {
        const { queries } = simulateAccordion(bundle, {
          arrivals: { kind: "poisson", qps },
          durationMs: 600_000,
          seed: 1,
        });
        must(queries > 0.8 * 600 * qps, "queries come");
      });
    }
  });
}
