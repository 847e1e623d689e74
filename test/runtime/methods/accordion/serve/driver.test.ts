import { expect, test } from "vitest";
import { textOf } from "../../../../support/metrics-text.ts";
import {
  ask,
  type Driven,
  drivenPlaces,
  type Entry,
  expectOwnRows,
  finishAll,
  replayedPlaces,
} from "./driven.ts";
import { DEEP, servedPlaces } from "./fake-places.ts";

const rows = (count: number, from = 0) => Array.from({ length: count }, (_, row) => from + row);

/** The commands so far, without what they answer. */
function commands({ log }: Driven): Entry[] {
  return log.filter(({ kind }) => ["start", "reshape", "drop"].includes(kind));
}

/** Lets runs end, in the order in which they began, until a request has so many rows. */
async function finishRows(driven: Driven, query: number, count: number): Promise<void> {
  const done = () =>
    driven.log.filter((entry) => entry.kind === "instance-done" && entry.query === query).length;
  while (done() < count) await driven.executor.finish();
}

test("instances stream through the stages, one in each and two at most between two", async () => {
  const driven = drivenPlaces(servedPlaces({ places: 3 }));
  const { executor, log } = driven;
  const asked = ask(driven, rows(5));
  expect(commands(driven)).toEqual([
    { kind: "start", query: 0, shape: 2, resumeAt: 0, places: [0, 1, 2] },
  ]);
  expect(executor.told).toEqual(["0: deep 0-2"]);
  await executor.finishOn(0);
  // The second stage has the first row, the first one the second.
  expect(executor.told.slice(1)).toEqual(["1: deep 2-4", "0: deep 0-2"]);
  await executor.finishOn(0);
  // The second row waits between them, and the third begins.
  expect(executor.held.map(({ worker }) => worker)).toEqual([1, 0]);
  await executor.finishOn(0);
  // Now two wait, so that the fourth does not.
  expect(executor.held.map(({ worker }) => worker)).toEqual([1]);
  await executor.finishOn(1);
  expect(executor.held.map(({ worker }) => worker)).toEqual([2, 1, 0]);
  await finishAll(driven);
  expectOwnRows(driven, asked);
  expect(executor.told).toHaveLength(15);
  expect(log.filter(({ kind }) => kind === "instance-done")).toHaveLength(5);
});

test("a value goes past the stages that do not use it, and only to those that do", async () => {
  const driven = drivenPlaces(servedPlaces({ places: 3 }));
  const { executor } = driven;
  const asked = ask(driven, [1, 2, 3, 4]);
  const inputCounts: string[] = [];
  while (executor.held.length > 0) {
    const [held] = executor.held;
    if (held !== undefined) inputCounts.push(`${held.worker} ${held.batch.inputs.length}`);
    await executor.finish();
  }
  // The last stage takes what the first layer made as well.
  expect([...new Set(inputCounts)].sort()).toEqual(["0 1", "1 1", "2 2"]);
  expectOwnRows(driven, asked);
});

test("a query that gives places up goes on with the row after the last done", async () => {
  const driven = drivenPlaces(servedPlaces({ places: 4 }));
  const { executor, clock, log, metrics } = driven;
  const long = ask(driven, rows(8), { sloMs: 1000 });
  await finishRows(driven, 0, 3);
  await executor.finishOn(1);
  await executor.finishOn(0);
  clock.nowMs = 50;
  // Eight rows take 149 ms on two places and 240 on the one that is free.
  const urgent = ask(driven, rows(8, 500), { sloMs: 150 });
  expect(commands(driven).slice(1)).toEqual([
    { kind: "reshape", query: 0, shape: 1, resumeAt: 3, places: [0, 1] },
    { kind: "start", query: 1, shape: 1, resumeAt: 0, places: [2, 3] },
  ]);
  // Places 0 to 2 are inside runs that nobody waits for any more.
  const before = executor.told.length;
  expect(executor.held.map(({ worker }) => worker).sort()).toEqual([0, 1, 2]);
  await executor.finishOn(0);
  await executor.finishOn(1);
  expect(executor.told.slice(before)).toEqual(["0: deep 0-3"]);
  await executor.finishOn(2);
  expect(executor.told.slice(before)).toEqual(["0: deep 0-3", "2: deep 0-3"]);
  await finishAll(driven);
  expectOwnRows(driven, long);
  expectOwnRows(driven, urgent);
  expect(executor.mistakes).toEqual([]);
  expect(replayedPlaces(driven.bundle, 64, log)).toEqual(log);
  const text = textOf(metrics, GAUGES).split("\n");
  expect(text).toContain(
    'stratagem_scaling_actions_total{model="deep",resource="places",direction="down"} 1',
  );
});

const GAUGES = {
  places: 4,
  readyPlaces: 4,
  busyPlaces: 0,
  activeQueries: 0,
  waitingQueries: 0,
  loadQps: 0,
  topLevelQps: 1,
  application: "places",
  promisedViolationRate: 0.01,
  bundleSha256: "ab",
};

test.each([false, true])(
  "what ran on a lost place runs again, whether the loss is told first (%s)",
  async (isToldFirst) => {
    const driven = drivenPlaces(servedPlaces({ places: 3 }));
    const { executor } = driven;
    const asked = ask(driven, rows(6));
    await finishRows(driven, 0, 2);
    await executor.lose(1, isToldFirst);
    expect(commands(driven).slice(1)).toEqual([
      { kind: "reshape", query: 0, shape: 1, resumeAt: 2, places: [0, 2] },
    ]);
    await finishAll(driven);
    expectOwnRows(driven, asked);
    expect(executor.mistakes).toEqual([]);
    executor.ready(1);
    const next = ask(driven, rows(2));
    expect(commands(driven).at(-1)).toMatchObject({ kind: "start", places: [0, 1, 2] });
    await finishAll(driven);
    expectOwnRows(driven, next);
  },
);

test("without a place left a query waits, and goes on where it was once there is one", async () => {
  const driven = drivenPlaces(servedPlaces({ places: 2, maxDepth: 1 }));
  const { executor, metrics } = driven;
  const first = ask(driven, rows(4), { sloMs: 1000 });
  const second = ask(driven, rows(2), { sloMs: 1000 });
  await finishRows(driven, 0, 2);
  await executor.lose(0);
  // The other place goes on with its own query, and then takes this one.
  expect(commands(driven)).toHaveLength(2);
  await finishAll(driven);
  expect(commands(driven).slice(2)).toEqual([
    { kind: "start", query: 0, shape: 0, resumeAt: 2, places: [1] },
  ]);
  expectOwnRows(driven, first);
  expectOwnRows(driven, second);
  expect(textOf(metrics, GAUGES)).toContain(
    'stratagem_scaling_actions_total{model="deep",resource="places",direction="restart"} 1',
  );
});

test("a query that loses its places twice fails, and its places serve the next", async () => {
  const driven = drivenPlaces(servedPlaces({ places: 3 }));
  const { executor } = driven;
  const asked = ask(driven, rows(6));
  await finishRows(driven, 0, 1);
  await executor.lose(2);
  await finishRows(driven, 0, 2);
  await executor.lose(1);
  expect(asked.outcomes).toEqual([
    {
      kind: "failed",
      reason: "worker-lost",
      message: "deep: workers ended while they ran it, twice or past its deadline",
    },
  ]);
  const next = ask(driven, rows(2), { sloMs: 1000 });
  await finishAll(driven);
  expectOwnRows(driven, next);
});

test("a standby that takes a place at once runs what was lost there", async () => {
  const driven = drivenPlaces(servedPlaces({ places: 2 }));
  const { executor } = driven;
  const asked = ask(driven, rows(4), { sloMs: 1000 });
  await finishRows(driven, 0, 1);
  await executor.replace(0);
  await finishAll(driven);
  expectOwnRows(driven, asked);
  expect(executor.mistakes).toEqual([]);
});

test("with no place up a request is refused", async () => {
  const driven = drivenPlaces(servedPlaces(), 64, false);
  const asked = ask(driven, rows(1));
  await Promise.resolve();
  expect(asked.outcomes).toMatchObject([{ kind: "failed", reason: "no-worker" }]);
});

test("a client that goes away leaves its places to who waits", async () => {
  const driven = drivenPlaces(servedPlaces({ places: 1, models: [DEEP] }));
  const { executor } = driven;
  const gone = ask(driven, rows(4), { sloMs: 1000 });
  const waiting = ask(driven, rows(2), { sloMs: 1000 });
  const alsoGone = ask(driven, rows(2), { sloMs: 1000 });
  alsoGone.submission.cancel();
  gone.submission.cancel();
  gone.submission.cancel();
  expect(commands(driven).slice(1)).toMatchObject([{ kind: "start", query: 1, places: [0] }]);
  // The place first ends what it is inside of.
  expect(executor.held).toHaveLength(1);
  await finishAll(driven);
  expectOwnRows(driven, waiting);
  expect(gone.outcomes).toMatchObject([{ reason: "cancelled" }]);
  expect(alsoGone.outcomes).toMatchObject([{ reason: "cancelled" }]);
  expect(executor.mistakes).toEqual([]);
});

test("a stage that refuses an instance fails its request and no other", async () => {
  const driven = drivenPlaces(servedPlaces({ places: 2, models: [DEEP], maxDepth: 1 }));
  const refused = ask(driven, rows(2));
  const other = ask(driven, rows(2));
  await driven.executor.refuse(0);
  await finishAll(driven);
  expect(refused.outcomes).toEqual([
    { kind: "failed", reason: "inference", message: "deep stage: the model said no" },
  ]);
  expectOwnRows(driven, other);
});

test("an output that is not one row fails the request", async () => {
  const driven = drivenPlaces(servedPlaces({ places: 1, models: [DEEP] }));
  const asked = ask(driven, rows(2));
  await driven.executor.finishWrong();
  expect(asked.outcomes).toMatchObject([
    { reason: "inference", message: 'output "y" has the shape [2, 2], expected one row' },
  ]);
});

test("high priority goes before low, and only low is given up for being late", async () => {
  const driven = drivenPlaces(servedPlaces({ places: 1, models: [DEEP] }));
  const { executor } = driven;
  const running = ask(driven, rows(4), { sloMs: 200 });
  const low = ask(driven, rows(1), { sloMs: 200, isHigh: false });
  const high = ask(driven, rows(1), { sloMs: 200 });
  // 120 + 30 + 30 ms of work are before it; the window is the SLO of 200 ms.
  const late = ask(driven, rows(1), { sloMs: 200, isHigh: false });
  await Promise.resolve();
  expect(late.outcomes).toMatchObject([{ kind: "failed", reason: "late" }]);
  while (high.outcomes.length === 0) await executor.finish();
  expect([running.outcomes.length, low.outcomes.length]).toEqual([1, 0]);
  await finishAll(driven);
  for (const one of [running, high, low]) expectOwnRows(driven, one);
});

test("more rows than there is room for are refused, and room comes back", async () => {
  const driven = drivenPlaces(servedPlaces({ places: 1, models: [DEEP] }), 6);
  const first = ask(driven, rows(4), { sloMs: 1000 });
  const refused = ask(driven, rows(3), { sloMs: 1000 });
  const fits = ask(driven, rows(2), { sloMs: 1000 });
  await finishAll(driven);
  expect(refused.outcomes).toEqual([
    { kind: "failed", reason: "queue-full", message: "4 rows wait or run, and at most 6 may" },
  ]);
  for (const one of [first, fits]) expectOwnRows(driven, one);
  const next = ask(driven, rows(6), { sloMs: 1000 });
  await finishAll(driven);
  expectOwnRows(driven, next);
});

test("an answer tells how long it waited and ran", async () => {
  const driven = drivenPlaces(servedPlaces({ places: 1, models: [DEEP] }));
  const first = ask(driven, rows(1), { sloMs: 1000 });
  driven.clock.nowMs = 10;
  const second = ask(driven, rows(1), { sloMs: 1000 });
  driven.clock.nowMs = 30;
  await driven.executor.finish();
  driven.clock.nowMs = 65;
  await driven.executor.finish();
  expect(expectOwnRows(driven, first)).toMatchObject({ queueMs: 0, inferMs: 30 });
  expect(expectOwnRows(driven, second)).toMatchObject({ queueMs: 20, inferMs: 35 });
});

test("stopping fails what is open, and nothing begins any more", async () => {
  const driven = drivenPlaces(servedPlaces({ places: 1, models: [DEEP] }));
  const { driver, executor } = driven;
  const open = [ask(driven, rows(2), { sloMs: 1000 }), ask(driven, rows(2), { sloMs: 1000 })];
  driver.abort();
  await finishAll(driven);
  for (const one of open) expect(one.outcomes).toMatchObject([{ reason: "closed" }]);
  expect(executor.told).toHaveLength(1);
  const after = ask(driven, rows(1));
  await executor.lose(0);
  expect(after.outcomes).toMatchObject([{ reason: "closed" }]);
});
