/** The sequential test: how seldom it cries wolf, and how soon it sees one. */
import { expect, test } from "vitest";
import { Rng } from "../../../../runtime/core/rng.ts";
import { EDetector } from "../../../../runtime/server/measures/e-detector.ts";
import { TimeSketch } from "../../../../runtime/server/measures/service-times.ts";

/** Observations until evidence is there; the most where it does not come. */
function observationsUntil(threshold: number, most: number, next: () => number, promised: number) {
  const detector = new EDetector();
  for (let count = 1; count <= most; count++) {
    detector.observe(next(), promised);
    if (detector.evidence >= threshold) return count;
  }
  return most;
}

const STREAMS: readonly (readonly [string, (rng: Rng) => () => number, number])[] = [
  ["one in ten is bad, at random", (rng) => () => (rng.nextFloat() < 0.1 ? 1 : 0), 0.1],
  ["shares of 0 to 0.04", (rng) => () => 0.04 * rng.nextFloat(), 0.02],
  ["seldom all of them", (rng) => () => (rng.nextFloat() < 0.01 ? 1 : 0), 0.01],
];

test.each(STREAMS)("a promise that is just kept breaks as seldom as agreed: %s", (_, of, mean) => {
  const threshold = 1000;
  const counts = Array.from({ length: 300 }, (_one, seed) =>
    observationsUntil(threshold, 20 * threshold, of(new Rng(seed, 7)), mean),
  );
  const average = counts.reduce((sum, count) => sum + count, 0) / counts.length;
  expect(average).toBeGreaterThan(threshold);
});

test("what is bad for good is found within a few observations, however long it was well", () => {
  for (const [before, most] of [
    [0, 9],
    [10_000, 9],
  ] as const) {
    const detector = new EDetector();
    for (let count = 0; count < before; count++) detector.observe(0, 0.1);
    let needed = 0;
    while (detector.evidence < 1.3e7) {
      detector.observe(1, 0.1);
      needed++;
    }
    expect(needed).toBeLessThanOrEqual(most);
  }
});

test("quantiles of the sketch are within 2.2 % of those of the numbers", () => {
  const rng = new Rng(5, 5);
  const sketch = new TimeSketch();
  const numbers = Array.from({ length: 20_001 }, () => 0.2 + 30 * rng.nextFloat() ** 2);
  for (const number of numbers) sketch.add(number);
  const sorted = numbers.sort((one, other) => one - other);
  for (const share of [0.01, 0.5, 0.95, 0.99, 1]) {
    const exact = sorted[Math.ceil(share * sorted.length) - 1] ?? Number.NaN;
    expect(Math.abs(sketch.quantile(share) / exact - 1)).toBeLessThan(0.022);
  }
  expect(new TimeSketch().quantile(0.5)).toBeNaN();
});

test("numbers beyond all steps are counted as the nearest", () => {
  const sketch = new TimeSketch();
  for (const number of [0, -1, Number.NaN, 1e-9]) sketch.add(number);
  expect(sketch.quantile(1)).toBeLessThan(0.002);
  for (let count = 0; count < 5; count++) sketch.add(1e12);
  expect(sketch.quantile(1)).toBeGreaterThan(2e5);
  expect(sketch.count).toBe(9);
});
