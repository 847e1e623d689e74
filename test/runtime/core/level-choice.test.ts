import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { LevelChoice, levelForLoad } from "../../../runtime/core/level-choice.ts";
import { LoadMonitor } from "../../../runtime/core/load-monitor.ts";
import { Rng } from "../../../runtime/core/rng.ts";

const LOADS = Float64Array.of(500, 1000, 2000);
const WINDOW_MS = 500;

/** Standard deviations of a Poisson count in the window, as a rate. */
function noiseQps(loadQps: number, sigmas: number): number {
  return (sigmas * Math.sqrt((loadQps * WINDOW_MS) / 1000) * 1000) / WINDOW_MS;
}

/** Settled on the level of 1000 queries/s. */
function settledOnMiddle(): LevelChoice {
  const choice = new LevelChoice(LOADS);
  expect(choice.update(900, WINDOW_MS, 0)).toBe(1);
  return choice;
}

describe("LevelChoice", () => {
  it("takes the top level while the load is unknown, also after it was known", () => {
    const choice = new LevelChoice(LOADS);
    expect(choice.update(Number.NaN, Number.NaN, 0)).toBe(2);
    expect(choice.update(100, WINDOW_MS, 50)).toBe(0);
    expect(choice.update(Number.NaN, Number.NaN, 60)).toBe(2);
  });

  it("goes down at once to the lowest level that is above the load by more than noise", () => {
    const choice = new LevelChoice(LOADS);
    expect(choice.update(1500, WINDOW_MS, 0)).toBe(2);
    expect(choice.update(1000 - noiseQps(1000, 1.5) + 1, WINDOW_MS, 1)).toBe(2);
    expect(choice.update(1000 - noiseQps(1000, 1.5) - 1, WINDOW_MS, 2)).toBe(1);
    expect(choice.update(100, WINDOW_MS, 3)).toBe(0);
  });

  it("starts on the lowest level that the first known load does not exceed by more than a standard deviation", () => {
    const first = (loadQps: number) => new LevelChoice(LOADS).update(loadQps, WINDOW_MS, 0);
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
    // 60 queries/s above the level, 15.65 of them allowed; five standard deviations of a window's 500 queries are 111.8 queries.
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
    const choice = new LevelChoice(LOADS);
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
        const choice = new LevelChoice(LOADS);
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
    expect(shareOfTimeOn(right, qps)).toBeGreaterThan(share);
  });
});

/** Part of ten minutes of Poisson arrivals that the level decides. */
function shareOfTimeOn(level: number, trueQps: number): number {
  const rng = new Rng(5, 0);
  const monitor = new LoadMonitor();
  const choice = new LevelChoice(LOADS);
  let nowMs = 0;
  let onLevelMs = 0;
  while (nowMs < 600_000) {
    const gapMs = (-Math.log(1 - rng.nextFloat()) * 1000) / trueQps;
    nowMs += gapMs;
    const chosen = choice.update(monitor.loadQps(nowMs), monitor.windowMs(nowMs), nowMs);
    if (chosen === level) onLevelMs += gapMs;
    monitor.recordArrival(nowMs);
  }
  return onLevelMs / nowMs;
}

it("the lowest level that carries a load is for it, the top one beyond and when unknown", () => {
  const levels = [{ loadQps: 40 }, { loadQps: 80 }];
  const loads = [1, 40, 40.1, 80.5, 9000, Number.NaN];
  expect(loads.map((loadQps) => levelForLoad(levels, loadQps))).toEqual([0, 0, 1, 1, 1, 1]);
});
