import { expect, test } from "vitest";
import { HISTORY_BEATS } from "../../../../../runtime/core/forecasters.ts";
import { LookForecasts } from "../../../../../runtime/methods/themis/serve/look-forecasts.ts";
import { themisPipeline } from "../../../../../runtime/methods/themis/serve/themis-pipeline.ts";
import { replayed } from "../../../server/graph/replayed.ts";
import { scheduledScales, traffic } from "./scheduled.ts";
import { servedScales } from "./served.ts";

interface Asked {
  readonly history: Float64Array;
  readonly resolve: (qps: number) => void;
  readonly reject: (error: Error) => void;
}

/** A dispatcher that looks when the test says so, and forecasts that end when it does. */
function looking() {
  const dispatcher = { lookCount: 0, beatMs: 1000, perBeat: new Float64Array(HISTORY_BEATS) };
  const asked: Asked[] = [];
  const notices: string[] = [];
  const told: number[] = [];
  const forecasts = new LookForecasts({
    dispatcher,
    forecaster: {
      forecast: (history) =>
        new Promise((resolve, reject) => asked.push({ history, resolve, reject })),
    },
    onNotice: (message) => notices.push(message),
  });
  const follow = () => forecasts.follow((qps) => told.push(qps));
  const look = (qps: number) => {
    dispatcher.lookCount++;
    dispatcher.perBeat.fill(qps);
    follow();
  };
  return { asked, notices, told, follow, look };
}

/** Lets promises come to their callbacks. */
async function turned(): Promise<void> {
  for (let turn = 0; turn < 3; turn++) await Promise.resolve();
}

test("each look is followed by one forecast, of what was seen then", async () => {
  const { asked, told, follow, look } = looking();
  follow();
  expect(asked).toHaveLength(0);
  look(3);
  follow();
  expect(asked).toHaveLength(1);
  look(4);
  expect(asked[0]?.history).toEqual(new Float64Array(HISTORY_BEATS).fill(3));
  asked[0]?.resolve(30);
  await turned();
  expect(told).toEqual([30]);
});

test("looks while a forecast is made are followed by one more, of the last of them", async () => {
  const { asked, told, follow, look } = looking();
  look(3);
  look(4);
  look(5);
  expect(asked).toHaveLength(1);
  asked[0]?.resolve(30);
  await turned();
  follow();
  follow();
  expect(asked).toHaveLength(2);
  expect(asked[1]?.history[0]).toBe(5);
  asked[1]?.resolve(50);
  await turned();
  follow();
  expect(asked).toHaveLength(2);
  expect(told).toEqual([30, 50]);
});

test("a forecast that fails takes the one before back, and is told of once", async () => {
  const { asked, notices, told, look } = looking();
  const outcomes = [10, null, null, 20, null];
  for (const [index, outcome] of outcomes.entries()) {
    look(index);
    if (outcome === null) asked[index]?.reject(new Error("out of memory"));
    else asked[index]?.resolve(outcome);
    await turned();
  }
  expect(told).toEqual([10, Number.NaN, Number.NaN, 20, Number.NaN]);
  expect(notices).toHaveLength(2);
  expect(notices[0]).toMatch(/^no forecast, .*: out of memory$/);
});

/** At this SLO a beat is a second. */
const FORETOLD = servedScales({ sloMs: 100, policy: { predictor: "lstm" } });

test("a server's plans follow the forecasts, and its recording replays alike", async () => {
  const histories: Float64Array[] = [];
  const serveWith = async (foretoldQps: number) => {
    const forecaster = {
      forecast: async (history: Float64Array) => {
        histories.push(history);
        return foretoldQps;
      },
    };
    const setup = scheduledScales(FORETOLD, { forecaster });
    setup.start();
    await traffic(setup, 30, 2);
    return setup;
  };
  const calm = await serveWith(3);
  const bursting = await serveWith(200);
  expect(calm.scheduler.level).toBe(0);
  expect(bursting.scheduler.level).toBe(2);
  expect(histories.at(-1)?.at(-1)).toBe(2);
  for (const { log, pipeline } of [calm, bursting]) {
    const foretold = log.flatMap((entry) => (entry.kind === "forecast" ? [entry.qps] : []));
    expect(foretold).toHaveLength(pipeline.dispatcher.lookCount);
    const fresh = themisPipeline(FORETOLD, {
      maxPending: 40,
      forecaster: { forecast: async () => Number.NaN },
    });
    expect(replayed(fresh.dispatcher, fresh.queryCapacity, log)).toEqual(log);
  }
});

test("a forecast that is a model's is not to be had without one", () => {
  expect(() => themisPipeline(FORETOLD, { maxPending: 40 })).toThrow(/must be open/);
  const { forecasts } = themisPipeline(servedScales(), { maxPending: 40 });
  expect(forecasts).toBeUndefined();
});
