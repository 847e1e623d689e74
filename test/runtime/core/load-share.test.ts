import { describe, expect, test } from "vitest";
import { LevelChoice } from "../../../runtime/core/level-choice.ts";
import { LoadMonitor } from "../../../runtime/core/load-monitor.ts";
import { SharedLoad, seenIn } from "../../../runtime/core/load-share.ts";
import { Rng } from "../../../runtime/core/rng.ts";

const LEVELS = Float64Array.of(200, 400, 600, 800, 1000, 1200);

function seen(qps: number, ms = 500) {
  const window = { queries: (qps * ms) / 1000, ms, clump: 1 };
  return { isKnown: true, window, newest: window };
}

describe("the load of several front ends", () => {
  test("is what one has counted, while nobody shares it", () => {
    const measured = seen(100);
    expect(new SharedLoad(4, 1000).of(measured)).toBe(measured);
  });

  test("is the sum of what all see, for levels of as many workers as they share", () => {
    const shared = new SharedLoad(8, 1000);
    shared.follow({ othersQps: 300, othersVariance: 600, workers: 2, allWorkers: 8 });
    const { window, own } = shared.of(seen(100));
    // 50 here and 150 there in half a beat; variances add up: 50 and 600 / 4.
    expect(window).toMatchObject({ queries: 200, ms: 500, clump: 1 });
    expect(own).toMatchObject({ queries: 200, ms: 500, clump: 4 });
    expect(shared.workersEach).toBe(4);
  });

  test("is that of each worker, where there are more or fewer than the levels are for", () => {
    const shared = new SharedLoad(4, 1000);
    shared.follow({ othersQps: 300, othersVariance: 600, workers: 4, allWorkers: 8 });
    expect(shared.of(seen(100)).window).toMatchObject({ queries: 100, clump: 0.5 });
    expect(shared.workersEach).toBe(1);
  });

  test("is taken for as much on every worker as here, where the others are not heard", () => {
    const shared = new SharedLoad(8, 1000);
    shared.follow({ othersQps: null, othersVariance: 0, workers: 2, allWorkers: 8 });
    const { window, own } = shared.of(seen(100));
    expect(window).toMatchObject({ queries: 200, clump: 4 });
    expect(own).toBeUndefined();
  });

  test("is known where others know it, though nothing has come here", () => {
    const shared = new SharedLoad(2, 1000);
    const monitor = new LoadMonitor(1000);
    monitor.look(10);
    shared.follow({ othersQps: 500, othersVariance: 1000, workers: 1, allWorkers: 2 });
    const load = shared.of(monitor);
    expect(load.isKnown).toBe(true);
    expect(new LevelChoice(LEVELS).update(load, 10)).toBe(2);
  });

  test("leads four front ends to the level of the whole, which none would find alone", () => {
    const alike = fourAt(950);
    expect(alike.every((level) => level === 4)).toBe(true);
  });

  test("is that which comes here, while more comes here than to the others", () => {
    const shared = new SharedLoad(4, 1000);
    shared.follow({ othersQps: 400, othersVariance: 800, workers: 2, allWorkers: 4 });
    expect(shared.of(seen(420)).window.queries).toBeCloseTo(410);
    expect(shared.of(seen(700)).window.queries).toBeCloseTo(700);
    expect(shared.of(seen(410)).window.queries).toBeCloseTo(410);
    expect(shared.of(seen(399)).window.queries).toBeCloseTo(399.5);
  });

  test("a burst that one of them sees counts before the others have told of theirs", () => {
    const shared = new SharedLoad(4, 1000);
    shared.follow({ othersQps: 300, othersVariance: 600, workers: 1, allWorkers: 4 });
    const choice = new LevelChoice(LEVELS);
    expect(choice.update(shared.of(seen(100)), 1000)).toBe(1);
    expect(choice.update(shared.of(seen(160)), 1010)).toBe(3);
    expect(choice.update(shared.of(seen(100)), 1020)).toBe(1);
  });
});

/** Levels of four front ends that get a Poisson load by lot, one look a beat. */
function fourAt(qps: number): number[] {
  const rng = new Rng(1, 1);
  const ends = Array.from({ length: 4 }, () => ({
    monitor: new LoadMonitor(1000),
    shared: new SharedLoad(20, 1000),
    choice: new LevelChoice(LEVELS),
    told: { qps: 0, variance: 0 },
  }));
  const levels: number[] = [];
  let nowMs = 0;
  let beatMs = 500;
  while (nowMs < 20_000) {
    nowMs -= (Math.log(1 - rng.nextFloat()) * 1000) / qps;
    const end = ends[Math.floor(rng.nextFloat() * 4)];
    end?.monitor.recordArrival(nowMs);
    if (nowMs < beatMs) continue;
    beatMs += 500;
    for (const one of ends) {
      one.monitor.look(nowMs);
      one.told = seenIn(one.monitor.window);
    }
    for (const one of ends) {
      const others = ends.filter((other) => other !== one);
      one.shared.follow({
        othersQps: others.reduce((sum, { told }) => sum + told.qps, 0),
        othersVariance: others.reduce((sum, { told }) => sum + told.variance, 0),
        workers: 5,
        allWorkers: 20,
      });
      const level = one.choice.update(one.shared.of(one.monitor), nowMs);
      if (nowMs > 10_000) levels.push(level);
    }
  }
  return levels;
}
