import fc from "fast-check";
import type { WorkerProblem } from "../../compiler/methods/ramsis/solve/worker-problem.ts";
import { quantileKnots } from "../../runtime/core/quantile-distribution.ts";

/**
 * A problem on the fixed-length grid.
 * @param serviceMs one row per variant, at least maxQueue + 1 batch sizes each.
 */
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
    crowdedRatePerMs: null,
    dispersion: 1,
    partialBatches: false,
    serviceKnotsMs: null,
    slackMs: Float64Array.from({ length: steps + 1 }, (_, j) => (j * sloMs) / steps),
    maxQueue,
    variantCount: options.accuracy.length,
    accuracy: Float64Array.from(options.accuracy),
    candidates: [...options.accuracy.keys()],
    largestBatch: new Uint32Array(options.accuracy.length).fill(maxQueue + 1),
    serviceMs: Float64Array.from(options.serviceMs.flatMap((row) => row.slice(0, maxQueue + 1))),
  };
}

/**
 * Small problems of every kind: idle, busy and overloaded, with service times below and above the
 * SLO.
 */
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

/**
 * Small problems with everything the paper leaves open: random service times, bursts, parts of a
 * queue, uneven grids, shortest-queue-first.
 */
export const variedProblems = fc
  .record({
    problem: smallProblems,
    dispersion: fc.constantFrom(1, 1, 1.3, 3, 8),
    partialBatches: fc.boolean(),
    spread: fc.constantFrom(null, 0.1, 0.8),
    cut: fc.constantFrom(null, 0.13, 0.5),
    crowding: fc.constantFrom(null, null, 0, 0.3),
  })
  .map(({ problem, dispersion, partialBatches, spread, cut, crowding }): WorkerProblem => {
    const sloMs = problem.slackMs[problem.slackMs.length - 1] ?? 0;
    const rate = problem.arrivalRatePerMs;
    return {
      ...problem,
      ...(crowding === null
        ? {}
        : {
            workerCount: 1,
            arrivalRatePerMs: rate / problem.workerCount,
            crowdedRatePerMs: (crowding * rate) / problem.workerCount,
          }),
      dispersion,
      partialBatches,
      slackMs: cut === null ? problem.slackMs : withCut(problem.slackMs, cut * sloMs),
      serviceKnotsMs: spread === null ? null : spreadOut(problem.serviceMs, spread),
    };
  });

function withCut(slackMs: Float64Array, ms: number): Float64Array {
  return Float64Array.from(new Set([...slackMs, ms])).sort();
}

/** Distributions whose p95 is the service time. */
function spreadOut(serviceMs: Float64Array, spread: number): Float64Array {
  const knots = Array.from(serviceMs, (ms) => {
    const p50 = ms / (1 + spread);
    return [...quantileKnots(p50, ms, ms * (1 + spread), p50 + 0.2 * (ms - p50))];
  });
  return Float64Array.from(knots.flat());
}
