import fc from "fast-check";
import { expect, test } from "vitest";
import { addedUpMs, LEAST_LAYER_MS, layerTimes } from "../../../compiler/profile/layer-times.ts";

const ms = fc.double({ min: 0, max: 1000, noNaN: true });
const runs = fc.record({
  unitMs: fc.array(ms, { minLength: 1, maxLength: 40 }),
  wholeMs: fc.double({ min: 0.01, max: 1000, noNaN: true }),
  emptyMs: fc.double({ min: 0, max: 2, noNaN: true }),
});

test("layers take above no time each, and together as long as the whole", () => {
  fc.assert(
    fc.property(runs, (given) => {
      const times = layerTimes(given);
      const sum = times.reduce((total, one) => total + one, 0);
      expect(times).toHaveLength(given.unitMs.length);
      expect(times.every((one) => one > 0)).toBe(true);
      expect(Math.abs(sum - given.wholeMs)).toBeLessThan(1e-9 * given.wholeMs);
    }),
  );
});

test("what every run takes is no part of a layer, however often it was paid", () => {
  // Layers of 1, 2 and 5 ms in a model of 8, each measured with 0.5 ms that any run takes.
  expect(layerTimes({ unitMs: [1.5, 2.5, 5.5], wholeMs: 8, emptyMs: 0.5 })).toEqual([1, 2, 5]);
});

test("what the engine gains across layers is taken off all of them in proportion", () => {
  expect(layerTimes({ unitMs: [2, 4, 10], wholeMs: 8, emptyMs: 0 })).toEqual([1, 2, 5]);
});

test("a layer as quick as an empty run is left the least time there is", () => {
  const [quick = 0, slow = 0] = layerTimes({ unitMs: [0.4, 10.5], wholeMs: 10, emptyMs: 0.5 });
  expect(quick / slow).toBeCloseTo(LEAST_LAYER_MS / 10, 12);
});

test("times scale with the clock's unit as long as no layer is at the least", () => {
  fc.assert(
    fc.property(
      fc.array(fc.double({ min: 3, max: 100, noNaN: true }), { minLength: 1, maxLength: 20 }),
      (unitMs) => {
        const once = layerTimes({ unitMs, wholeMs: 50, emptyMs: 1 });
        const scaled = layerTimes({
          unitMs: unitMs.map((one) => 1000 * one),
          wholeMs: 50_000,
          emptyMs: 1000,
        });
        for (const [index, one] of once.entries()) expect(scaled[index]).toBeCloseTo(1000 * one, 6);
      },
    ),
  );
});

test("a stage takes its layers and what any stage takes", () => {
  expect(addedUpMs([1, 2, 4], 0.5, { from: 1, to: 3 })).toBe(6.5);
  expect(addedUpMs([1, 2, 4], 0, { from: 0, to: 1 })).toBe(1);
});
