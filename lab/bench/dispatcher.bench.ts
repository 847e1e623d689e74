import { CommandBuffer } from "stratagem-runtime/internal/core/command-buffer";
import { dispatcherOf } from "stratagem-runtime/internal/methods/ramsis/core/dispatcher-of";
import { bench, describe } from "vitest";
import { tinyBundle } from "../../test/support/tiny-bundle.ts";

const WORKERS = 60;
/**
 * In a cycle every worker gets 4 queries, decides on the first at once, and on the other three when
 * that is done.
 */
const CYCLES = 500;
const DECISIONS = CYCLES * WORKERS * 2;
const GAP_MS = 0.5;

describe(`dispatcher, ${WORKERS} workers`, () => {
  const bundle = tinyBundle({
    workers: WORKERS,
    sloMs: 150,
    maxQueue: 32,
    slackSteps: 100,
    loadsQps: [500, 1000, 1500, 2000, 2500, 3000],
  });
  const dispatcher = dispatcherOf(bundle);
  const commands = new CommandBuffer(1, dispatcher.queueCapacity);
  let nowMs = 0;
  let batched = 0;

  bench(`${DECISIONS} decisions, two arrivals to each`, () => {
    for (let cycle = 0; cycle < CYCLES; cycle++) {
      for (let query = 0; query < 4 * WORKERS; query++) {
        nowMs += GAP_MS;
        dispatcher.onArrival(query, nowMs + 150, nowMs, commands);
        commands.clear();
      }
      for (let worker = 0; worker < WORKERS; worker++) {
        dispatcher.onBatchDone(worker, nowMs, commands);
        batched += commands.queryCount(0);
        commands.clear();
        dispatcher.onBatchDone(worker, nowMs, commands);
      }
    }
    if (batched === 0) throw new Error("no batch was started");
  });
});
