import { describe, expect, test } from "vitest";
import type { InferlineBundle } from "../../../../runtime/bundle/schema.ts";
import {
  type StageBundleSketch,
  type StageLevelSketch,
  stageBundle,
} from "../../../support/stage-bundle.ts";
import { StageDriver, ToldTuner } from "../../../support/stage-driver.ts";

const A = { name: "a", latencyMs: { 1: 10, 2: 15, 4: 25 } };
const B = { name: "b", from: { a: 1 }, latencyMs: { 1: 20, 2: 30 } };

function chain(
  stages: StageLevelSketch["stages"],
  sketch: Partial<StageBundleSketch> = {},
): InferlineBundle {
  return stageBundle({ tasks: [A, B], levels: [{ loadQps: 100, stages }], ...sketch });
}

/** A driver whose tuner does as it is told. */
function told(bundle: InferlineBundle) {
  const tuner = new ToldTuner(bundle);
  const driver = new StageDriver(bundle, { tuner }).start();
  const tell = (...targets: number[]) => {
    tuner.tell(...targets);
    tuner.wakeMs = driver.nowMs;
    driver.endEvent();
  };
  return { driver, tuner, tell };
}

describe("batches", () => {
  test("start when all that happens at one time is in, on the idle worker of the lowest index", () => {
    const driver = new StageDriver(
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
    const driver = new StageDriver(
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
    const driver = new StageDriver(
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
    const driver = new StageDriver(
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
    const bundle = stageBundle({
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
    const driver = new StageDriver(bundle);
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
    const driver = new StageDriver(chain(stages, { workers: [2] })).start();
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
    const driver = new StageDriver(chain([[1, 1]], { tasks: [A], workers: [1] })).start();
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
    const driver = new StageDriver(
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
    const driver = new StageDriver(
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

describe("replicas", () => {
  test("come up as planned, and in every task before a second one in any", () => {
    const driver = new StageDriver(
      chain([
        [1, 3],
        [1, 2],
      ]),
    );
    for (let worker = 0; worker < 8; worker++) driver.comeUp(worker);
    expect(driver.placed).toBe("(a) (b) (a) (b) (a) - - -");
    expect(driver.dispatcher.servers).toBe(5);
    expect([...driver.dispatcher.assignedByTask]).toEqual([3, 2]);
    expect([...driver.dispatcher.readyByTask]).toEqual([0, 0]);
  });

  test("are added as the tuner says, the smallest part of a target first, and only as workers are there", () => {
    const { driver, tell } = told(
      chain(
        [
          [1, 1],
          [1, 1],
        ],
        { workers: [5] },
      ),
    );
    tell(4, 4);
    expect(driver.placed).toBe("a b (a) (b) (a)");
    expect([...driver.dispatcher.targetsByTask]).toEqual([4, 4]);
    driver.finishLoads();
    expect([...driver.dispatcher.readyByTask]).toEqual([3, 2]);
  });

  test("that are too many go while idle, the highest indices first", () => {
    const { driver, tell } = told(
      chain([
        [1, 4],
        [1, 1],
      ]),
    );
    expect(driver.placed).toBe("a b a a a - - -");
    tell(2, 1);
    expect(driver.placed).toBe("a b a - - - - -");
    expect(driver.log.slice(-2)).toEqual(["release 3", "release 4"]);
  });

  test("that still load go before a ready one that would be missed", () => {
    const { driver, tell } = told(
      chain([
        [1, 1],
        [1, 1],
      ]),
    );
    tell(4, 1);
    expect(driver.placed).toBe("a b (a) (a) (a) - - -");
    tell(2, 1);
    expect(driver.placed).toBe("a b (a) - - - - -");
  });

  test("that are busy finish their batch before they go", () => {
    const { driver, tell } = told(
      chain([
        [1, 3],
        [1, 1],
      ]),
    );
    for (let n = 0; n < 4; n++) driver.request();
    driver.endEvent();
    expect(driver.placed).toBe("a! b a! a! - - - -");
    tell(1, 1);
    expect(driver.placed).toBe("a! b a! a! - - - -");
    expect([...driver.dispatcher.assignedByTask]).toEqual([3, 1]);
    driver.finish(3);
    expect(driver.log.at(-1)).toBe("release 3");
    driver.endEvent();
    // The fourth request was not given to the one that left.
    expect(driver.queues[0]).toEqual([6]);
    driver.finish(0);
    driver.endEvent();
    expect(driver.running[0]).toEqual([6]);
    driver.finish(2);
    expect(driver.placed).toBe("a! b! - - - - - -");
    while (driver.states.includes("busy")) {
      for (let worker = 0; worker < 8; worker++) driver.finish(worker);
      driver.endEvent();
    }
    expect([...driver.done].sort()).toEqual([0, 1, 2, 3]);
  });

  test("that are leaving stay after all when the target rises again", () => {
    const { driver, tell } = told(
      chain([
        [1, 3],
        [1, 1],
      ]),
    );
    for (let n = 0; n < 3; n++) driver.request();
    driver.endEvent();
    tell(1, 1);
    tell(2, 1);
    const { length } = driver.log;
    driver.finish(2);
    driver.finish(3);
    expect(driver.log.slice(length)).toEqual(["release 3"]);
    expect(driver.placed).toBe("a! b a - - - - -");
  });

  test("that go can become another task's in the same moment, without a release", () => {
    const { driver, tell } = told(
      chain(
        [
          [1, 3],
          [1, 1],
        ],
        { workers: [4] },
      ),
    );
    const { length } = driver.log;
    tell(1, 3);
    expect(driver.log.slice(length)).toEqual(["assign 2 b/b", "assign 3 b/b"]);
    expect(driver.placed).toBe("a b (b) (b)");
  });

  test("change no more often than targets do", () => {
    const { driver, tell } = told(
      chain([
        [1, 2],
        [1, 2],
      ]),
    );
    const { length } = driver.log;
    tell(2, 2);
    driver.passTo(60_000);
    expect(driver.log.slice(length)).toEqual([]);
  });
});

describe("workers that are lost", () => {
  test("are replaced by others, and come back as spares", () => {
    const driver = new StageDriver(
      chain([
        [1, 2],
        [1, 1],
      ]),
    ).start();
    expect(driver.placed).toBe("a b a - - - - -");
    driver.request();
    driver.endEvent();
    driver.lose(0);
    expect(driver.placed).toBe("x b a (a) - - - -");
    expect([...driver.failed]).toEqual([0]);
    driver.comeUp(0);
    expect(driver.placed).toBe("- b a (a) - - - -");
  });

  test("are missed fairly when there is no other, and every task keeps one", () => {
    const driver = new StageDriver(
      chain(
        [
          [1, 2],
          [1, 2],
        ],
        { workers: [4] },
      ),
    ).start();
    expect(driver.placed).toBe("a b a b");
    driver.lose(1);
    driver.lose(3);
    // The only other worker of the first task becomes one of the second.
    expect(driver.placed).toBe("a x (b) x");
    driver.lose(0);
    // With one worker the first task has it.
    expect(driver.placed).toBe("x x (a) x");
    for (const worker of [0, 1, 3]) driver.comeUp(worker);
    driver.finishLoads();
    expect(driver.placed).toBe("b a a b");
  });

  test("of a pool that has no other let the task move to a pool that can run it, until they are back", () => {
    const bundle = chain(
      [
        [4, 2, 0],
        [1, 1, 1],
      ],
      {
        tasks: [
          {
            name: "a",
            latencyMs: [
              { 1: 10, 4: 25 },
              { 1: 40, 2: 60 },
            ],
          },
          B,
        ],
        workers: [2, 3],
      },
    );
    const driver = new StageDriver(bundle).start();
    expect(driver.placed).toBe("a a b - -");
    driver.lose(0);
    driver.lose(1);
    expect(driver.placed).toBe("x x b (a) -");
    driver.finishLoads();
    for (let n = 0; n < 5; n++) driver.request();
    driver.endEvent();
    // The largest batch that was profiled there.
    expect(driver.running[3]).toEqual([0, 2]);
    driver.comeUp(1);
    expect(driver.placed).toBe("x (a) b a! -");
    driver.finishLoads();
    expect(driver.running[1]).toEqual([4, 6, 8]);
    driver.finish(3);
    expect(driver.placed).toBe("x a! b - -");
  });
});

describe("levels", () => {
  const TWO: StageBundleSketch = {
    tasks: [
      {
        name: "a",
        latencyMs: [
          { 1: 40, 2: 60 },
          { 1: 10, 4: 20 },
        ],
      },
    ],
    levels: [
      { loadQps: 100, stages: [[2, 2, 0]], peakQps: 120 },
      { loadQps: 300, stages: [[4, 2, 1]], peakQps: 320 },
    ],
    workers: [3, 2],
  };

  test.each([
    [50, 0],
    [100, 0],
    [101, 1],
    [5000, 1],
    [Number.NaN, 1],
  ])("%d requests per second start with level %d", (initialDemandQps, level) => {
    const driver = new StageDriver(stageBundle(TWO), { initialDemandQps });
    expect(driver.dispatcher.level).toBe(level);
  });

  /** Followed from level 0 to 1, with two requests at work. */
  function changing(sketch: StageBundleSketch) {
    const bundle = stageBundle(sketch);
    const tuner = new ToldTuner(bundle);
    const driver = new StageDriver(bundle, { tuner, initialDemandQps: 100 }).start();
    const riseAt = (timeMs: number) => {
      tuner.recentMeanQps = 200;
      driver.nowMs = timeMs;
      tuner.wakeMs = timeMs;
      driver.endEvent();
      driver.passTo(timeMs + 15_000);
      expect(driver.dispatcher.level).toBe(1);
    };
    return { driver, tuner, riseAt };
  }

  test("change when more traffic than chance explains has come for 15 s, and the tuner is told", () => {
    const { driver, tuner } = changing(TWO);
    // Three deviations of the 3000 requests of 30 s are 5.5 requests per second.
    tuner.recentMeanQps = 105.4;
    tuner.wakeMs = 1000;
    driver.passTo(60_000);
    expect(driver.dispatcher.level).toBe(0);
    tuner.recentMeanQps = 105.6;
    driver.passTo(75_999);
    expect(driver.dispatcher.level).toBe(0);
    driver.passTo(76_000);
    expect(driver.dispatcher.level).toBe(1);
    tuner.recentMeanQps = 100;
    driver.passTo(136_999);
    expect(driver.dispatcher.level).toBe(1);
    driver.passTo(137_000);
    expect(driver.dispatcher.level).toBe(0);
    expect(tuner.followed).toEqual([1, 0]);
  });

  test("never change when one is fixed", () => {
    const bundle = stageBundle(TWO);
    const tuner = new ToldTuner(bundle, 0);
    const driver = new StageDriver(bundle, { tuner, level: 0 }).start();
    tuner.recentMeanQps = 1000;
    tuner.wakeMs = 0;
    driver.passTo(100_000);
    expect(driver.dispatcher.level).toBe(0);
  });

  test("that put a stage elsewhere start its new replicas before the old ones stop", () => {
    const { driver, riseAt } = changing(TWO);
    expect(driver.placed).toBe("a a - - -");
    riseAt(1000);
    expect(driver.placed).toBe("a a - (a) (a)");
    driver.finishLoad(3);
    expect(driver.placed).toBe("a a - a (a)");
    // Old and new ones serve side by side, the old ones in the batches of their profile.
    for (let n = 0; n < 7; n++) driver.request();
    driver.endEvent();
    expect(driver.running).toEqual([[0, 1], [2, 3], [], [4, 5, 6], []]);
    driver.finish(0);
    driver.endEvent();
    driver.finishLoad(4);
    expect(driver.placed).toBe("- a! - a! a");
    driver.finish(1);
    expect(driver.placed).toBe("- - - a! a");
    expect(driver.waitingCount).toBe(0);
    expect(driver.done).toEqual([0, 1, 2, 3]);
  });

  test("that put a stage elsewhere have no use for replicas that still load where it was", () => {
    const { driver, tuner, riseAt } = changing(TWO);
    tuner.tell(3);
    tuner.wakeMs = driver.nowMs;
    driver.endEvent();
    expect(driver.placed).toBe("a a (a) - -");
    riseAt(1000);
    expect(driver.placed).toBe("a a - (a) (a)");
  });

  test("that change a batch size do so at once", () => {
    const { driver, riseAt } = changing({
      tasks: [A],
      levels: [
        { loadQps: 100, stages: [[1, 1]], peakQps: 120 },
        { loadQps: 300, stages: [[4, 1]], peakQps: 320 },
      ],
    });
    const { length } = driver.log;
    riseAt(0);
    expect(driver.log.slice(length)).toEqual([]);
    for (let n = 0; n < 5; n++) driver.request();
    driver.endEvent();
    expect(driver.running[0]).toEqual([0, 1, 2, 3]);
  });

  /** Two stages change places in two full pools. */
  const SWAP: StageBundleSketch = {
    tasks: [
      { name: "a", latencyMs: { 1: 10 } },
      { name: "b", from: { a: 1 }, latencyMs: { 1: 10 } },
    ],
    levels: [
      {
        loadQps: 100,
        stages: [
          [1, 2, 0],
          [1, 2, 1],
        ],
        peakQps: 120,
      },
      {
        loadQps: 300,
        stages: [
          [1, 2, 1],
          [1, 2, 0],
        ],
        peakQps: 320,
      },
    ],
    workers: [2, 2],
  };

  test("let old replicas give way where there is no room, but not a task's last ready one", () => {
    const { driver, riseAt } = changing(SWAP);
    expect(driver.placed).toBe("a a b b");
    riseAt(0);
    expect(driver.placed).toBe("a (b) b (a)");
    driver.finishLoad(3);
    expect(driver.placed).toBe("(b) (b) b a");
    driver.finishLoad(1);
    expect(driver.placed).toBe("(b) b (a) a");
    driver.finishLoads();
    expect(driver.placed).toBe("b b a a");
  });

  test("let a last one give way when nothing else would ever make room", () => {
    const one = (pool: number) => [1, 1, pool] as const;
    const { driver, riseAt } = changing({
      ...SWAP,
      levels: [
        { loadQps: 100, stages: [one(0), one(1)], peakQps: 120 },
        { loadQps: 300, stages: [one(1), one(0)], peakQps: 320 },
      ],
      workers: [1, 1],
    });
    for (let n = 0; n < 3; n++) driver.request();
    driver.endEvent();
    riseAt(0);
    expect(driver.placed).toBe("a! b");
    driver.finish(0);
    expect(driver.placed).toBe("(b) b");
    driver.endEvent();
    driver.finishLoads();
    for (let step = 0; step < 20; step++) {
      driver.finish(0);
      driver.finish(1);
      driver.endEvent();
      driver.finishLoads();
    }
    expect(driver.placed).toBe("b a");
    expect(driver.done).toEqual([0, 1, 2]);
  });
});

test("the load is measured", () => {
  const driver = new StageDriver(chain([[4, 1]], { tasks: [A] })).start();
  for (let n = 0; n < 400; n++) {
    driver.passTo(driver.nowMs + 10);
    driver.request();
  }
  expect(driver.dispatcher.loadQps(driver.nowMs)).toBeCloseTo(100, 0);
});
