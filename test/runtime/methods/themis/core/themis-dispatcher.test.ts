import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  CommandBuffer,
  DROP_LATE,
  DROP_NO_WORKER,
  DROP_QUEUE_FULL,
} from "../../../../../runtime/core/command-buffer.ts";
import { themisDispatcherOf } from "../../../../../runtime/methods/themis/core/themis-dispatcher.ts";
import { ThemisDriver } from "../../../../support/themis-driver.ts";
import { twoTasks, twoTasksUp } from "../../../../support/themis-two-tasks.ts";

describe("batches", () => {
  test("start at once, in the order of the queries, as large as planned", () => {
    const driver = twoTasksUp();
    driver.request(0, 11);
    expect(driver.started).toEqual([]);
    driver.endEvent();
    expect(driver.started.map(({ queries }) => queries)).toEqual([
      [0, 1, 2, 3],
      [4, 5, 6, 7],
    ]);
    const [busy = 0] = driver.running.keys();
    driver.finish(busy);
    driver.endEvent();
    expect(driver.started.at(-1)).toMatchObject({ worker: busy, task: 0, queries: [8, 9, 10] });
    expect(driver.started.every(({ level }) => level === 0)).toBe(true);
  });

  test("of one task do not wait for those of another", () => {
    const driver = twoTasksUp();
    driver.request(0, 20);
    driver.request(1, 1);
    driver.endEvent();
    expect(driver.started.map(({ task }) => task)).toEqual([0, 0, 1]);
  });

  test("start on an instance that comes up, and on one with more cores first", () => {
    const driver = twoTasksUp();
    driver.dispatcher.onForecast(200);
    driver.serveEvenly(190, 400, false);
    // The burst has given the two that are up four cores; the others came later.
    const [worker = -1] = driver.instances.keys();
    driver.finishResize(worker);
    driver.request(0, 1);
    driver.endEvent();
    expect(driver.started.at(-1)?.worker).toBe(worker);
  });
});

describe("queries that have waited for long", () => {
  for (const [slos, ageMs] of [
    [0.5, 100],
    [1, 200],
    [3, 600],
  ] as const) {
    test(`are given up at an age of ${slos} SLO when their turn comes, and not before`, () => {
      const driver = twoTasksUp({ policy: { dropAfterSlos: slos } });
      driver.request(0, 8);
      driver.endEvent();
      driver.request(0, 2);
      driver.nowMs = 1;
      driver.request(0, 2);
      driver.nowMs = ageMs;
      driver.finish(0);
      driver.endEvent();
      expect(driver.dropped).toEqual([
        { query: 8, reason: DROP_LATE, ageMs },
        { query: 9, reason: DROP_LATE, ageMs },
      ]);
      expect(driver.started.at(-1)?.queries).toEqual([10, 11]);
    });
  }

  test("are never given up if the policy says so", () => {
    const driver = twoTasksUp({ policy: { dropAfterSlos: null } });
    driver.request(0, 9);
    driver.endEvent();
    driver.nowMs = 1e9;
    driver.finish(0);
    driver.endEvent();
    expect(driver.dropped).toEqual([]);
    expect(driver.started.at(-1)?.queries).toEqual([8]);
  });

  test("are given up where batch and the rest of the way take too long, if that counts", () => {
    const driver = twoTasksUp({ policy: { dropRule: "rest" } }, { level: 0 });
    driver.request(0, 8);
    driver.endEvent();
    driver.request(0, 3);
    driver.nowMs = 4;
    driver.request(0, 1);
    // A batch of four takes 4·4 + 2 + 4 + 1 = 23 ms, then one of two 8 + 2 + 2 + 1 = 13 ms: who
    // came at 0 has to be there by 200, so has to start by 164.
    driver.nowMs = 165;
    driver.finish(0);
    driver.endEvent();
    // With the first one gone a batch of three is left, which takes 4·3 + 2 + 3 + 1 = 18 ms.
    expect(driver.dropped.map(({ query }) => query)).toEqual([8]);
    expect(driver.started.at(-1)?.queries).toEqual([9, 10, 11]);
  });

  test("count what is queued on their way", () => {
    const driver = twoTasksUp({ policy: { dropRule: "rest" } }, { level: 0 });
    // The second task has one instance with batches of two, so 20 more take ten rounds of 13 ms.
    driver.request(1, 22);
    driver.endEvent();
    driver.request(0, 1, 120);
    driver.request(0, 1, 150);
    driver.endEvent();
    // The first would be through at 130 + 13 in a batch of two, the second at 130 + 8 alone.
    expect(driver.dropped.map(({ query }) => query)).toEqual([22]);
    expect(driver.started.at(-1)?.queries).toEqual([23]);
  });

  test("stay as long as a burst may still give the tasks behind more cores", () => {
    const driver = twoTasksUp({ policy: { dropRule: "rest" } });
    driver.request(0, 1);
    driver.request(0, 1, 20);
    driver.endEvent();
    // 13 ms for a batch of two, and then 13 on one core, or 2·1 + 0.5 + 2 + 1 on four: no more.
    expect(driver.dropped).toEqual([]);
    const fixed = twoTasksUp({ policy: { dropRule: "rest" } }, { level: 0 });
    fixed.request(0, 1);
    fixed.request(0, 1, 20);
    fixed.endEvent();
    expect(fixed.dropped.map(({ query }) => query)).toEqual([1]);
  });

  test("are given up by their age alone on a way that only some take", () => {
    const tasks = [
      { name: "first", fit: { gamma: 4, epsilon: 2, delta: 1, eta: 1 } },
      { name: "second", from: { first: 0.9 }, fit: { gamma: 4, epsilon: 2, delta: 1, eta: 1 } },
    ];
    const driver = twoTasksUp({ tasks, policy: { dropRule: "rest" } }, { level: 0 });
    driver.request(0, 2, 8);
    driver.endEvent();
    expect(driver.dropped.map(({ query }) => query)).toEqual([0]);
    expect(driver.started.at(-1)?.queries).toEqual([1]);
  });

  test("make room in the batch for those behind them", () => {
    const driver = twoTasksUp();
    driver.request(0, 8);
    driver.endEvent();
    // Some have less time than others.
    for (const sloMs of [50, 500, 50, 500, 50, 500, 500, 500]) driver.request(0, 1, sloMs);
    driver.nowMs = 60;
    driver.finish(0);
    driver.endEvent();
    expect(driver.dropped.map(({ query }) => query)).toEqual([8, 10, 12]);
    expect(driver.started.at(-1)?.queries).toEqual([9, 11, 13, 14]);
    expect(driver.log.slice(-4)).toEqual([
      "drop 8 2",
      "drop 10 2",
      "drop 12 2",
      "start 0 0 9,11,13,14",
    ]);
  });

  test("wait on where no instance is idle", () => {
    const driver = twoTasksUp();
    driver.request(0, 9);
    driver.endEvent();
    driver.passTo(1000);
    expect(driver.dropped).toEqual([]);
    expect(driver.waitingCount).toBe(1);
  });

  test("start nothing if all that wait are too old", () => {
    const driver = twoTasksUp();
    driver.request(0, 12);
    driver.endEvent();
    driver.nowMs = 200;
    driver.finish(0);
    driver.endEvent();
    expect(driver.dropped).toHaveLength(4);
    expect(driver.running.size).toBe(1);
  });
});

describe("room", () => {
  test("is for as many as wait; what comes beyond is dropped at once", () => {
    const { workerCount } = new ThemisDriver(twoTasks()).dispatcher;
    const driver = twoTasksUp({}, { queryCapacity: (workerCount + 1) * 8 + 5 });
    expect(driver.dispatcher.waitingCapacity).toBe(5);
    driver.request(0, 4);
    driver.endEvent();
    driver.request(0, 4);
    driver.endEvent();
    driver.request(0, 5);
    driver.request(1, 1);
    expect(driver.dropped).toEqual([{ query: 13, reason: DROP_QUEUE_FULL, ageMs: 0 }]);
    expect(driver.waitingCount).toBe(5);
  });

  test("in the commands is enough for any full queues, served or dropped", () => {
    const first = fc.nat(60);
    const capacity = fc.integer({ min: 1, max: 60 });
    fc.assert(
      fc.property(capacity, first, fc.boolean(), fc.boolean(), (few, ofFirst, isLate, isLost) => {
        const { workerCount } = new ThemisDriver(twoTasks()).dispatcher;
        const driver = twoTasksUp({}, { queryCapacity: (workerCount + 1) * 8 + few });
        driver.request(0, Math.min(ofFirst, few));
        driver.request(1, Math.max(0, few - ofFirst));
        expect(driver.waitingCount).toBe(few);
        driver.nowMs = isLate ? 1000 : 10;
        if (isLost) for (const worker of driver.workers) driver.lose(worker);
        driver.endEvent();
        const started = driver.started.reduce((sum, { queries }) => sum + queries.length, 0);
        expect(started + driver.dropped.length + driver.waitingCount).toBe(few);
        if (isLost || isLate) expect(driver.waitingCount).toBe(0);
      }),
      { numRuns: 100 },
    );
  });
});

describe("without workers", () => {
  test("what waits is dropped when the last one is gone, after all of that time", () => {
    const driver = twoTasksUp();
    driver.request(0, 12);
    driver.endEvent();
    for (const worker of driver.workers) {
      expect(driver.dropped).toEqual([]);
      driver.lose(worker);
    }
    expect(driver.dropped.map(({ query, reason }) => [query, reason])).toEqual([
      [8, DROP_NO_WORKER],
      [9, DROP_NO_WORKER],
      [10, DROP_NO_WORKER],
      [11, DROP_NO_WORKER],
    ]);
    expect(driver.lost).toHaveLength(8);
    driver.request(0, 1);
    expect(driver.dropped.at(-1)).toMatchObject({ query: 12, reason: DROP_NO_WORKER });
  });

  test("what waits goes on waiting if the last one is replaced at once", () => {
    const driver = twoTasksUp();
    driver.request(0, 9);
    driver.endEvent();
    for (const worker of driver.workers.slice(1)) driver.lose(worker);
    driver.replace(0);
    expect(driver.dropped).toEqual([]);
    driver.finishLoads();
    expect(driver.started.at(-1)?.queries).toEqual([8]);
  });

  test("that are yet to come up for the first time, queries wait", () => {
    const driver = new ThemisDriver(twoTasks(), { initialDemandQps: 50 });
    driver.comeUp(3);
    driver.request(0, 1);
    driver.request(1, 1);
    driver.endEvent();
    expect(driver.dropped).toEqual([]);
    for (const worker of driver.workers) driver.comeUp(worker);
    driver.finishLoads();
    expect(driver.started.map(({ task, queries }) => [task, ...queries]).sort()).toEqual([
      [0, 0],
      [1, 1],
    ]);
  });
});

describe("looks at the traffic", () => {
  test("begin with the first request, one tick after it", () => {
    const driver = twoTasksUp();
    expect(driver.dispatcher.wakeMs).toBe(Number.POSITIVE_INFINITY);
    driver.nowMs = 1234;
    driver.request();
    driver.endEvent();
    expect(driver.dispatcher.wakeMs).toBe(1334);
    driver.passTo(1534);
    expect(driver.dispatcher.lookCount).toBe(3);
  });

  test("that were missed in a long silence are not made up for one by one", () => {
    const driver = twoTasksUp({ policy: { tickMs: 1e-3 } });
    driver.request();
    driver.endEvent();
    driver.nowMs = 1e13;
    driver.wake();
    expect(driver.dispatcher.lookCount).toBe(1);
    expect(driver.dispatcher.wakeMs).toBeGreaterThan(1e13);
    expect(driver.dispatcher.wakeMs).toBeLessThan(1e13 + 1);
  });

  test("come at multiples of the tick after the first request, however late they are made", () => {
    const delay = fc.array(fc.integer({ min: 0, max: 1000 }), { minLength: 1, maxLength: 20 });
    fc.assert(
      fc.property(delay, (delaysMs) => {
        const driver = twoTasksUp();
        driver.nowMs = 50;
        driver.request();
        driver.endEvent();
        for (const delayMs of delaysMs) {
          driver.nowMs = driver.dispatcher.wakeMs + delayMs;
          driver.wake();
          const { wakeMs } = driver.dispatcher;
          expect(wakeMs).toBeGreaterThan(driver.nowMs);
          expect(wakeMs - driver.nowMs).toBeLessThanOrEqual(100);
          expect((wakeMs - 50) % 100).toBe(0);
        }
      }),
    );
  });
});

describe("commands", () => {
  test("say the cores of instances that change, and 0 where they do not differ", () => {
    const out = new CommandBuffer(3, 1);
    out.assign(2, 1, 7);
    out.resize(3, 65_535);
    expect([out.cores(0), out.cores(1)]).toEqual([7, 65_535]);
    out.clear();
    out.assign(2, 1);
    expect(out.cores(0)).toBe(0);
  });

  test("are not more than the dispatcher says when everything happens in one look", () => {
    const bundle = twoTasks();
    const dispatcher = themisDispatcherOf(bundle, { queryCapacity: 100, initialDemandQps: 200 });
    expect(dispatcher.commandCapacity).toBe(
      dispatcher.waitingCapacity + 1 + 3 * dispatcher.workerCount,
    );
  });
});
