import { describe, expect, test } from "vitest";
import {
  type InferlineBundleSketch,
  inferlineBundle,
} from "../../../../support/inferline-bundle.ts";
import { A } from "../../../../support/inferline-chain.ts";
import { InferlineDriver, ToldTuner } from "../../../../support/inferline-driver.ts";

describe("levels", () => {
  /** At this SLO a beat is a second. */
  const TWO: InferlineBundleSketch = {
    sloMs: 100,
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
    const driver = new InferlineDriver(inferlineBundle(TWO), { initialDemandQps });
    expect(driver.dispatcher.level).toBe(level);
  });

  /** Followed from level 0 to 1, with two requests at work. */
  function changing(sketch: InferlineBundleSketch) {
    const bundle = inferlineBundle(sketch);
    const tuner = new ToldTuner(bundle);
    const driver = new InferlineDriver(bundle, { tuner, initialDemandQps: 100 }).start();
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

  test("change when traffic beyond chance has come for 15 beats, and tell the tuner", () => {
    const { driver, tuner } = changing(TWO);
    // Three deviations of the 3000 requests of 30 beats are 5.5 requests per second.
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

  test("are those of the load of all front ends, where several share the workers", () => {
    const { driver, tuner } = changing(TWO);
    const share = { othersVariance: 10, workers: 2, allWorkers: 4 };
    driver.dispatcher.onShare({ ...share, othersQps: 100 });
    tuner.recentMeanQps = 108;
    tuner.wakeMs = 1000;
    // What comes here would want the next plan by itself, half of 208 does not.
    driver.passTo(60_000);
    expect(driver.dispatcher.level).toBe(0);
    driver.dispatcher.onShare({ ...share, othersQps: 150 });
    driver.passTo(80_000);
    expect(driver.dispatcher.level).toBe(1);
  });

  test("never change when one is fixed", () => {
    const bundle = inferlineBundle(TWO);
    const tuner = new ToldTuner(bundle, 0);
    const driver = new InferlineDriver(bundle, { tuner, level: 0 }).start();
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
      sloMs: 100,
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
  const SWAP: InferlineBundleSketch = {
    sloMs: 100,
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
