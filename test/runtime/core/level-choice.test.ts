import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  DEFAULT_LEVEL_CHOICE,
  LevelChoice,
  levelForLoad,
  POOLED_LEVEL_CHOICE,
} from "../../../runtime/core/level-choice.ts";
import { LoadMonitor, type MeasuredLoad } from "../../../runtime/core/load-monitor.ts";
import { Rng } from "../../../runtime/core/rng.ts";

const LOADS = Float64Array.of(500, 1000, 2000);
const WINDOW_MS = 500;

/** Standard deviations of a Poisson count in the window, as a rate. */
function noiseQps(loadQps: number, sigmas: number): number {
  return (sigmas * Math.sqrt((loadQps * WINDOW_MS) / 1000) * 1000) / WINDOW_MS;
}

/** A known load, which the newest window shows as well. */
function seen(loadQps: number, ms = WINDOW_MS, clump = 1): MeasuredLoad {
  const window = { queries: (loadQps * ms) / 1000, ms, clump };
  return { isKnown: true, window, newest: window };
}

/** What a record too short for a load has counted. */
function counted(queries: number, ms: number, clump = 1): MeasuredLoad {
  const window = { queries, ms, clump };
  return { isKnown: false, window, newest: window };
}

/** A choice that is given loads, as if half a beat had shown them. */
class Chooser {
  readonly choice = new LevelChoice(LOADS);

  update(loadQps: number, windowMs: number, nowMs: number): number {
    return this.choice.update(seen(loadQps, windowMs), nowMs);
  }
}

/** Settled on the level of 1000 queries/s. */
function settledOnMiddle(): Chooser {
  const choice = new Chooser();
  expect(choice.update(900, WINDOW_MS, 0)).toBe(1);
  return choice;
}

describe("LevelChoice", () => {
  it("takes the lowest level while nothing was seen", () => {
    expect(new LevelChoice(LOADS).update(counted(0, 10), 0)).toBe(0);
  });

  it("stays there in a short record unless the lowest level would not bring such a count", () => {
    const choice = new LevelChoice(LOADS);
    // Of 500 queries/s 5 come in 10 ms, and more than 13 of them once in seven hundred times.
    expect(choice.update(counted(13, 10), 10)).toBe(0);
    expect(choice.update(counted(14, 10), 10)).toBe(2);
    expect(choice.update(counted(2, 1), 1)).toBe(0);
    expect(choice.update(counted(999, 5), 5)).toBe(2);
    expect(choice.update(counted(34, 40), 40)).toBe(0);
    expect(choice.update(counted(35, 40), 40)).toBe(1);
    expect(choice.update(counted(30, 45), 45)).toBe(0);
  });

  it("takes queries that came together for less evidence than as many by themselves", () => {
    const choice = new LevelChoice(LOADS);
    expect(choice.update(counted(32, 10, 8), 10)).toBe(0);
    const settled = settledOnMiddle();
    const rise = 1000 + noiseQps(1000, 3.5) + 1;
    expect(settled.choice.update(seen(rise, WINDOW_MS, 8), 1)).toBe(1);
    expect(settled.choice.update(seen(rise), 1)).toBe(2);
  });

  it("lets a burst decide for as long as the newest half beat shows it", () => {
    const choice = new LevelChoice(Float64Array.of(1, 10, 100));
    const long = { queries: 64, ms: 64_000, clump: 1 };
    const newest = (queries: number, clump = 1) => ({
      isKnown: true,
      window: long,
      newest: { queries, ms: 500, clump },
    });
    expect(choice.update(newest(0), 0)).toBe(0);
    expect(choice.update(newest(4), 1)).toBe(1);
    expect(choice.update(newest(20), 1)).toBe(2);
    expect(choice.update(newest(1), 2)).toBe(0);
    // As many with one arrival.
    expect(choice.update(newest(20, 20), 1)).toBe(0);
  });

  it("goes down at once to the lowest level that is above the load by more than noise", () => {
    const choice = new Chooser();
    expect(choice.update(1500, WINDOW_MS, 0)).toBe(2);
    expect(choice.update(1000 - noiseQps(1000, 1.5) + 1, WINDOW_MS, 1)).toBe(2);
    expect(choice.update(1000 - noiseQps(1000, 1.5) - 1, WINDOW_MS, 2)).toBe(1);
    expect(choice.update(100, WINDOW_MS, 3)).toBe(0);
  });

  it("starts on the lowest level that the load exceeds by no more than a deviation", () => {
    const first = (loadQps: number) => new Chooser().update(loadQps, WINDOW_MS, 0);
    expect(first(1000 + noiseQps(1000, 1) - 1)).toBe(1);
    expect(first(1000 + noiseQps(1000, 1) + 1)).toBe(2);
    expect(first(9000)).toBe(2);
  });

  it("takes an excess within the noise for noise, and one above it for a rise", () => {
    const choice = settledOnMiddle();
    expect(choice.update(1000 + noiseQps(1000, 3.5) - 1, WINDOW_MS, 1)).toBe(1);
    expect(choice.update(1000 + noiseQps(1000, 3.5) + 1, WINDOW_MS, 2)).toBe(2);
  });

  it("allows more noise in a shorter window", () => {
    const choice = settledOnMiddle();
    expect(choice.update(1000 + noiseQps(1000, 3.5) + 1, WINDOW_MS / 2, 1)).toBe(1);
  });

  it("goes up when small excesses add up, and forgets them when the load falls", () => {
    // 60 queries/s above the level, 15.65 of them allowed; five standard deviations of a window's
    // 500 queries are 111.8 queries.
    const steady = settledOnMiddle();
    expect(steady.update(1060, WINDOW_MS, 2500)).toBe(1);
    expect(steady.update(1060, WINDOW_MS, 2550)).toBe(2);
    const interrupted = settledOnMiddle();
    expect(interrupted.update(1060, WINDOW_MS, 2500)).toBe(1);
    expect(interrupted.update(900, WINDOW_MS, 3500)).toBe(1);
    expect(interrupted.update(1060, WINDOW_MS, 6000)).toBe(1);
  });

  it("tolerates an excess within the allowance for ever", () => {
    const choice = settledOnMiddle();
    expect(choice.update(1015, WINDOW_MS, 1e9)).toBe(1);
  });

  it("jumps over levels that do not carry the load", () => {
    const choice = new Chooser();
    expect(choice.update(100, WINDOW_MS, 0)).toBe(0);
    expect(choice.update(1900, WINDOW_MS, 1)).toBe(2);
    expect(choice.update(9000, WINDOW_MS, 2)).toBe(2);
  });

  it("is never more than noise below the level that carries the load", () => {
    const measurement = fc.record({
      loadQps: fc.double({ min: 0, max: 3000, noNaN: true }),
      gapMs: fc.nat(700),
    });
    fc.assert(
      fc.property(fc.array(measurement, { maxLength: 100 }), (measurements) => {
        const choice = new Chooser();
        let nowMs = 0;
        for (const { loadQps, gapMs } of measurements) {
          nowMs += gapMs;
          const level = choice.update(loadQps, WINDOW_MS, nowMs);
          const levelQps = LOADS[level] ?? Number.NaN;
          const isTop = level === LOADS.length - 1;
          expect(isTop || loadQps <= levelQps + noiseQps(levelQps, 3.5)).toBe(true);
          const below = LOADS[level - 1];
          expect(below === undefined || loadQps > below - noiseQps(below, 1.5)).toBe(true);
        }
      }),
    );
  });

  it.each([
    ["exactly at the level", 1000, 1, 0.95],
    ["5 % above it", 1050, 2, 0.6],
    ["10 % above it", 1100, 2, 0.99],
    ["5 % below it", 950, 1, 0.99],
  ])("under a steady load %s spends nearly all time on the right level", (_, qps, right, share) => {
    expect(shareOfTimeOn(LOADS, right, qps)).toBeGreaterThan(share);
  });

  // Before the window reached back over arrivals, all of these decided by the top level for ever.
  it.each([
    [[1, 2, 3], 0.7, 0],
    [[1, 2, 3], 1, 0],
    [[1, 2, 3], 1.5, 1],
    [[1, 2, 3], 2, 1],
    [[1, 2, 3], 2.5, 2],
    [[1, 2, 3], 3, 2],
    [[0.01, 0.05], 0.005, 0],
    [[0.01, 0.05], 0.01, 0],
    [[0.01, 0.05], 0.03, 1],
    [[0.01, 0.05], 0.05, 1],
  ])("tells levels of %j queries/s apart at %d", (loads, qps, right) => {
    const levels = Float64Array.from(loads);
    expect(shareOfTimeOn(levels, right, qps, DEFAULT_LEVEL_CHOICE)).toBeGreaterThan(0.9);
    expect(shareOfTimeOn(levels, right, qps, POOLED_LEVEL_CHOICE)).toBeGreaterThan(0.97);
  });

  it.each([
    ["a burst out of silence", 1, 100, 6],
    ["five times the load", 0.01, 0.05, 30],
    ["ten times the load", 10, 100, 20],
    ["a burst at hundreds of queries/s", 200, 1000, 70],
  ])("sees %s within a few arrivals", (_, beforeQps, afterQps, arrivals) => {
    const levels = Float64Array.of(beforeQps, afterQps);
    const { monitor, choice } = followed(levels, POOLED_LEVEL_CHOICE);
    let nowMs = 0;
    for (let n = 0; n < 200; n++) {
      monitor.recordArrival(nowMs);
      nowMs += 1000 / beforeQps;
      expect(levelAt(monitor, choice, nowMs)).toBe(0);
    }
    let needed = 0;
    while (levelAt(monitor, choice, nowMs) === 0) {
      monitor.recordArrival(nowMs);
      nowMs += 1000 / afterQps;
      needed++;
    }
    expect(needed).toBeLessThanOrEqual(arrivals);
  });

  it("leaves the lowest level within ten queries of a burst at the start", () => {
    for (const options of [DEFAULT_LEVEL_CHOICE, POOLED_LEVEL_CHOICE]) {
      const { monitor, choice } = followed(LOADS, options);
      const levels = Array.from({ length: 1000 }, (_, query) => {
        const level = levelAt(monitor, choice, query * 0.005);
        monitor.recordArrival(query * 0.005);
        return level;
      });
      expect(levels[0]).toBe(0);
      expect(levels.slice(10)).not.toContain(0);
      expect(levels.slice(10)).toEqual(Array(990).fill(2));
    }
  });
});

function followed(levels: Float64Array, options = DEFAULT_LEVEL_CHOICE) {
  return { monitor: new LoadMonitor(1000), choice: new LevelChoice(levels, options) };
}

function levelAt(monitor: LoadMonitor, choice: LevelChoice, nowMs: number): number {
  monitor.look(nowMs);
  return choice.update(monitor, nowMs);
}

/** Part of a long time of Poisson arrivals that the level decides, after the first 300 arrivals. */
function shareOfTimeOn(
  levels: Float64Array,
  level: number,
  trueQps: number,
  options = DEFAULT_LEVEL_CHOICE,
): number {
  const rng = new Rng(5, 0);
  const { monitor, choice } = followed(levels, options);
  const arrivals = Math.max(20_000, 600 * trueQps);
  let nowMs = 0;
  let onLevelMs = 0;
  let totalMs = 0;
  for (let arrival = 0; arrival < arrivals; arrival++) {
    const gapMs = (-Math.log(1 - rng.nextFloat()) * 1000) / trueQps;
    nowMs += gapMs;
    const chosen = levelAt(monitor, choice, nowMs);
    monitor.recordArrival(nowMs);
    if (arrival < 300) continue;
    totalMs += gapMs;
    if (chosen === level) onLevelMs += gapMs;
  }
  return onLevelMs / totalMs;
}

it("the lowest level that carries a load is for it, the top one beyond and when unknown", () => {
  const levels = [{ loadQps: 40 }, { loadQps: 80 }];
  const loads = [1, 40, 40.1, 80.5, 9000, Number.NaN];
  expect(loads.map((loadQps) => levelForLoad(levels, loadQps))).toEqual([0, 0, 1, 1, 1, 1]);
});
