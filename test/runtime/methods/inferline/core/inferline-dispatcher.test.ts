import { describe, expect, test } from "vitest";
import { inferlineBundle } from "../../../../support/inferline-bundle.ts";
import { A, chain } from "../../../../support/inferline-chain.ts";
import { InferlineDriver } from "../../../../support/inferline-driver.ts";

describe("batches", () => {
  test("start when all of one time is in, on the idle worker of the lowest index", () => {
    const driver = new InferlineDriver(
      chain([
        [4, 2],
        [1, 1],
      ]),
      {},
    ).start();
    for (let n = 0; n < 6; n++) driver.request();
    expect(driver.waitingCount).toBe(6);
    expect(driver.dispatcher.wakeMs).toBe(0);
    driver.endEvent();
    expect(driver.running).toEqual([[0, 2, 4, 6], [], [8, 10], [], [], [], [], []]);
    expect(driver.placed).toBe("a! b a! - - - - -");
  });

  test("hold what waits, up to the planned size, and are not waited for", () => {
    const driver = new InferlineDriver(
      chain([
        [2, 1],
        [1, 1],
      ]),
    ).start();
    driver.request();
    driver.endEvent();
    expect(driver.running[0]).toEqual([0]);
    for (let n = 0; n < 3; n++) driver.request();
    driver.endEvent();
    driver.finish(0);
    driver.endEvent();
    expect(driver.running[0]).toEqual([2, 4]);
    expect(driver.running[1]).toEqual([1]);
    driver.finish(0);
    driver.finish(1);
    driver.endEvent();
    expect(driver.running[0]).toEqual([6]);
    expect(driver.running[1]).toEqual([3]);
  });

  test("start in the order of the tasks", () => {
    const driver = new InferlineDriver(
      chain([
        [1, 1],
        [1, 1],
      ]),
    ).start();
    driver.request();
    driver.request();
    driver.endEvent();
    driver.finish(0);
    const { length } = driver.log;
    driver.endEvent();
    expect(driver.log.slice(length)).toEqual(["start 0 a/a 2", "start 1 b/b 1"]);
  });
});

describe("queries", () => {
  test("wait however late they are", () => {
    const driver = new InferlineDriver(
      chain([
        [1, 1],
        [1, 1],
      ]),
    ).start();
    driver.request();
    driver.endEvent();
    driver.request();
    driver.passTo(1e6);
    expect(driver.waitingCount).toBe(1);
    driver.finish(0);
    driver.endEvent();
    expect(driver.running[0]).toEqual([2]);
  });

  test("are dropped while no worker is up that could ever serve them", () => {
    const only = { name: "b", from: { a: 1 }, latencyMs: [null, { 1: 20 }] };
    const bundle = inferlineBundle({
      tasks: [A, only],
      levels: [
        {
          loadQps: 100,
          stages: [
            [1, 1, 0],
            [1, 1, 1],
          ],
        },
      ],
      workers: [1, 1],
    });
    const driver = new InferlineDriver(bundle);
    driver.request();
    expect(driver.log).toEqual(["drop 0 1"]);
    driver.start();
    driver.request();
    driver.endEvent();
    driver.finish(0);
    driver.endEvent();
    driver.request();
    driver.endEvent();
    driver.finish(0);
    driver.endEvent();
    expect(driver.queues[1]).toEqual([5]);
    // The one that ran and the one that waited.
    driver.lose(1);
    expect(driver.dropped).toEqual([0, 5]);
    expect([...driver.failed]).toEqual([0, 1, 2]);
  });

  test("are dropped while the workers that are left are other tasks'", () => {
    const stages = [
      [1, 1],
      [1, 1],
    ] as const;
    const driver = new InferlineDriver(chain(stages, { workers: [2] })).start();
    driver.lose(1);
    driver.request();
    driver.endEvent();
    driver.finish(0);
    driver.endEvent();
    expect(driver.dropped).toEqual([1]);
    driver.comeUp(1);
    driver.request();
    driver.endEvent();
    driver.finish(0);
    expect(driver.queues[1]).toEqual([3]);
    driver.finishLoads();
    expect(driver.running[1]).toEqual([3]);
  });

  test("that wait stay where the only worker for them is replaced at once", () => {
    const driver = new InferlineDriver(chain([[1, 1]], { tasks: [A], workers: [1] })).start();
    driver.request();
    driver.endEvent();
    driver.request();
    driver.replace(0);
    expect([...driver.failed]).toEqual([0]);
    expect(driver.queues[0]).toEqual([1]);
    driver.finishLoads();
    expect(driver.running[0]).toEqual([1]);
  });

  test("wait while a worker that could serve them is still loading", () => {
    const driver = new InferlineDriver(
      chain([
        [1, 1],
        [1, 1],
      ]),
    );
    driver.comeUp(0);
    driver.request();
    driver.endEvent();
    expect(driver.placed).toBe("(a) x x x x x x x");
    expect(driver.waitingCount).toBe(1);
    driver.finishLoads();
    expect(driver.running[0]).toEqual([0]);
  });

  test("are dropped beyond the capacity, and taken back when they are no longer wanted", () => {
    const driver = new InferlineDriver(
      chain([
        [1, 1],
        [1, 1],
      ]),
      { queryCapacity: 40 },
    ).start();
    const { waitingCapacity } = driver.dispatcher;
    for (let n = 0; n <= waitingCapacity; n++) driver.request();
    expect(driver.dropped).toEqual([2 * waitingCapacity]);
    expect(driver.cancel(0)).toBe(true);
    expect(driver.cancel(0)).toBe(false);
    driver.endEvent();
    expect(driver.running[0]).toEqual([2]);
    expect(driver.cancel(2)).toBe(false);
  });
});

test("the load is measured", () => {
  const driver = new InferlineDriver(chain([[4, 1]], { tasks: [A] })).start();
  for (let n = 0; n < 400; n++) {
    driver.passTo(driver.nowMs + 10);
    driver.request();
  }
  expect(driver.dispatcher.loadQps(driver.nowMs)).toBeCloseTo(100, 0);
});
