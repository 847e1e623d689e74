import { expect, test } from "vitest";
import { Rng } from "../../../../../runtime/core/rng.ts";
import { OverloadDetector } from "../../../../../runtime/methods/ramsis/serve/level-generation.ts";

const TOP_QPS = 400;

/**
 * Feeds a Poisson process whose rate depends on the second; returns the times and loads of what is
 * detected.
 */
function detections(seed: number, seconds: number, rateQps: (second: number) => number) {
  const rng = new Rng(seed, 0);
  const detector = new OverloadDetector();
  const found: { second: number; loadQps: number }[] = [];
  let nowMs = 0;
  while (nowMs < seconds * 1000) {
    nowMs += (-1000 * Math.log(1 - rng.nextFloat())) / rateQps(Math.floor(nowMs / 1000));
    const loadQps = detector.onArrival(nowMs, TOP_QPS);
    if (!Number.isNaN(loadQps)) found.push({ second: nowMs / 1000, loadQps });
  }
  return found;
}

test("an hour at the load of the top level is no overload", () => {
  expect(detections(1, 3600, () => TOP_QPS)).toEqual([]);
});

test("a fifth more is one after five seconds, and is measured", () => {
  const [first] = detections(2, 20, () => 1.2 * TOP_QPS);
  expect(first?.second).toBeGreaterThan(5);
  expect(first?.second).toBeLessThan(7);
  expect(first?.loadQps).toBeGreaterThan(1.1 * TOP_QPS);
  expect(first?.loadQps).toBeLessThan(1.3 * TOP_QPS);
});

test("bursts of three seconds are none, however high", () => {
  expect(detections(3, 600, (second) => (second % 10 < 3 ? 10 : 0.5) * TOP_QPS)).toEqual([]);
});

test("a break of many seconds begins the record anew", () => {
  const detector = new OverloadDetector();
  const burst = (startMs: number) => {
    const found: number[] = [];
    for (let query = 0; query < 3000; query++) {
      const loadQps = detector.onArrival(startMs + query, TOP_QPS);
      if (!Number.isNaN(loadQps)) found.push(loadQps);
    }
    return found;
  };
  expect([0, 60_000, 1e9].flatMap(burst)).toEqual([]);
});
