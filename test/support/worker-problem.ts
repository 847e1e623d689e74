import fc from "fast-check";
import type { WorkerProblem } from "../../compiler/solvers/ramsis/worker-problem.ts";

/** A problem on the fixed-length grid. @param serviceMs one row per variant, at least maxQueue + 1 batch sizes each. */
export function workerProblem(options: {
  workerCount: number;
  loadQps: number;
  sloMs: number;
  steps: number;
  maxQueue: number;
  accuracy: readonly number[];
  serviceMs: readonly (readonly number[])[];
}): WorkerProblem {
  const { sloMs, steps, maxQueue } = options;
  return {
    workerCount: options.workerCount,
    arrivalRatePerMs: options.loadQps / 1000,
    slackMs: Float64Array.from({ length: steps + 1 }, (_, j) => (j * sloMs) / steps),
    maxQueue,
    variantCount: options.accuracy.length,
    accuracy: Float64Array.from(options.accuracy),
    candidates: [...options.accuracy.keys()],
    serviceMs: Float64Array.from(options.serviceMs.flatMap((row) => row.slice(0, maxQueue + 1))),
  };
}

/** Small problems of every kind: idle, busy and overloaded, with service times below and above the SLO. */
export const smallProblems = fc
  .record({
    workerCount: fc.integer({ min: 1, max: 4 }),
    utilisation: fc.double({ min: 0.05, max: 1.3, noNaN: true }),
    sloMs: fc.integer({ min: 20, max: 200 }),
    steps: fc.integer({ min: 1, max: 5 }),
    maxQueue: fc.integer({ min: 1, max: 3 }),
    variants: fc.array(
      fc.record({
        accuracy: fc.double({ min: 0.1, max: 1, noNaN: true }),
        firstMs: fc.double({ min: 2, max: 90, noNaN: true }),
        perQueryMs: fc.double({ min: 0, max: 40, noNaN: true }),
      }),
      { minLength: 1, maxLength: 3 },
    ),
  })
  .map(({ utilisation, variants, ...shape }) => {
    const fastestMs = Math.min(...variants.map((variant) => variant.firstMs));
    return workerProblem({
      ...shape,
      loadQps: (1000 * utilisation * shape.workerCount) / fastestMs,
      accuracy: variants.map((variant) => variant.accuracy),
      serviceMs: variants.map(({ firstMs, perQueryMs }) =>
        Array.from({ length: 4 }, (_, index) => firstMs + index * perQueryMs),
      ),
    });
  });
