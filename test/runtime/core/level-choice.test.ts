import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { LevelChoice } from "../../../runtime/core/level-choice.ts";
import { LoadMonitor } from "../../../runtime/core/load-monitor.ts";
import { Rng } from "../../../runtime/core/rng.ts";

const LOADS = Float64Array.of(500, 1000, 2000);
const WINDOW_MS = 500;

/** 3 standard deviations of a Poisson count in the window, as a rate. */
function noiseQps(loadQps: number): number {
  return (3 * Math.sqrt((loadQps * WINDOW_MS) / 1000) * 1000) / WINDOW_MS;
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

  it("goes down at once to the lowest level that carries the load, its own load included", () => {
    const choice = new LevelChoice(LOADS);
    expect(choice.update(1000, WINDOW_MS, 0)).toBe(1);
    expect(choice.update(500, WINDOW_MS, 1)).toBe(0);
  });

  it("takes an excess within the noise for noise, and one above it for a rise", () => {
    const choice = settledOnMiddle();
    expect(choice.update(1000 + noiseQps(1000) - 1, WINDOW_MS, 1)).toBe(1);
    expect(choice.update(1000 + noiseQps(1000) + 1, WINDOW_MS, 2)).toBe(2);
  });

  it("allows more noise in a shorter window", () => {
    const choice = settledOnMiddle();
    expect(choice.update(1000 + noiseQps(1000) + 1, WINDOW_MS / 2, 1)).toBe(1);
  });

  it("goes up when a small excess has lasted for the dwell time, and starts over when it has not", () => {
    const choice = settledOnMiddle();
    expect(choice.update(1050, WINDOW_MS, 1000)).toBe(1);
    expect(choice.update(1000, WINDOW_MS, 2500)).toBe(1);
    expect(choice.update(1050, WINDOW_MS, 3000)).toBe(1);
    expect(choice.update(1050, WINDOW_MS, 4999)).toBe(1);
    expect(choice.update(1050, WINDOW_MS, 5000)).toBe(2);
  });

  it("jumps over levels that do not carry the load", () => {
    const choice = new LevelChoice(LOADS);
    expect(choice.update(100, WINDOW_MS, 0)).toBe(0);
    expect(choice.update(1900, WINDOW_MS, 1)).toBe(2);
    expect(choice.update(9000, WINDOW_MS, 2)).toBe(2);
  });

  it("always carries the load, or is excused by noise that has not lasted", () => {
    const measurement = fc.record({
      loadQps: fc.double({ min: 0, max: 3000, noNaN: true }),
      gapMs: fc.nat(700),
    });
    fc.assert(
      fc.property(fc.array(measurement, { maxLength: 100 }), (measurements) => {
        const choice = new LevelChoice(LOADS);
        let nowMs = 0;
        let previous = LOADS.length - 1;
        let excusedSinceMs = Number.NaN;
        for (const { loadQps, gapMs } of measurements) {
          nowMs += gapMs;
          const level = choice.update(loadQps, WINDOW_MS, nowMs);
          const levelQps = LOADS[level] ?? Number.NaN;
          const lowest = LOADS.findIndex((candidate) => candidate >= loadQps);
          const carrying = lowest === -1 ? LOADS.length - 1 : lowest;
          if (level === carrying) {
            excusedSinceMs = Number.NaN;
          } else {
            expect(level).toBe(previous);
            expect(level).toBeLessThan(carrying);
            expect(loadQps).toBeLessThanOrEqual(levelQps + noiseQps(levelQps));
            if (Number.isNaN(excusedSinceMs)) excusedSinceMs = nowMs;
            expect(nowMs - excusedSinceMs).toBeLessThan(2000);
          }
          previous = level;
        }
      }),
    );
  });

  it("stays on a level exactly at the true load for at least 95 % of the time, where following the load would leave it half of the time", () => {
    const trueQps = 1000;
    const rng = new Rng(5, 0);
    const monitor = new LoadMonitor();
    const choice = new LevelChoice(LOADS);
    let nowMs = 0;
    let upMs = 0;
    let followingUpMs = 0;
    while (nowMs < 600_000) {
      const gapMs = (-Math.log(1 - rng.nextFloat()) * 1000) / trueQps;
      nowMs += gapMs;
      const loadQps = monitor.loadQps(nowMs);
      if (choice.update(loadQps, monitor.windowMs(nowMs), nowMs) === 2) upMs += gapMs;
      if (loadQps > trueQps) followingUpMs += gapMs;
      monitor.recordArrival(nowMs);
    }
    expect(upMs / nowMs).toBeLessThan(0.05);
    expect(followingUpMs / nowMs).toBeGreaterThan(0.4);
  });
});
