import { expect, test } from "vitest";
import { dominatedVariants } from "../../../compiler/model/pareto.ts";
import { nextMeasuredTimes, serviceTimesByBatch } from "../../../compiler/model/service-time.ts";

test("interpolates between measured batch sizes and keeps the measured ones", () => {
  const rows = [
    { batch: 1, ms: 10 },
    { batch: 4, ms: 16 },
  ];
  expect([...serviceTimesByBatch(rows, 4)]).toEqual([10, 12, 14, 16]);
});

test("extends beyond the last measured size by least squares through all of them", () => {
  const rows = [
    { batch: 1, ms: 1 },
    { batch: 2, ms: 4 },
    { batch: 3, ms: 4 },
  ];
  const times = serviceTimesByBatch(rows, 5);
  expect(times[3]).toBeCloseTo(6, 12);
  expect(times[4]).toBeCloseTo(7.5, 12);
});

test("never lets a larger batch take less time", () => {
  const rows = [
    { batch: 1, ms: 5 },
    { batch: 2, ms: 3 },
    { batch: 3, ms: 4 },
  ];
  expect([...serviceTimesByBatch(rows, 4)]).toEqual([5, 5, 5, 5]);
});

test("takes the first measured time for smaller batches", () => {
  const rows = [
    { batch: 4, ms: 8 },
    { batch: 8, ms: 16 },
  ];
  expect([...serviceTimesByBatch(rows, 4)]).toEqual([8, 8, 8, 8]);
});

test("scales a single measurement with the batch size", () => {
  expect([...serviceTimesByBatch([{ batch: 2, ms: 10 }], 4)]).toEqual([10, 10, 15, 20]);
});

test("a batch between two measured sizes takes as long as the next larger one", () => {
  const rows = [
    { batch: 2, ms: 5 },
    { batch: 4, ms: 8 },
    { batch: 7, ms: 9 },
  ];
  expect([...nextMeasuredTimes(rows)]).toEqual([5, 5, 8, 8, 9, 9, 9]);
});

test("a larger batch that was measured faster is not taken to be faster", () => {
  const rows = [
    { batch: 1, ms: 6 },
    { batch: 2, ms: 5 },
    { batch: 3, ms: 7 },
  ];
  expect([...nextMeasuredTimes(rows)]).toEqual([6, 6, 7]);
});

test("a variant is dominated only by one that is at least as good at every batch size", () => {
  const curve = (accuracy: number, ...serviceMs: number[]) => ({
    accuracy,
    serviceMs: Float64Array.from(serviceMs),
  });
  expect(
    dominatedVariants([
      curve(0.7, 10, 20),
      curve(0.7, 12, 20),
      curve(0.65, 11, 15),
      curve(0.9, 50, 60),
      curve(0.9, 50, 60),
    ]),
  ).toEqual([false, true, false, false, true]);
});
