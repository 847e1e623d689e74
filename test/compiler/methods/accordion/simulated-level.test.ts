import { expect, test } from "vitest";
import { simulateAccordion } from "../../../../compiler/methods/accordion/simulate/simulate.ts";
import { simulatedLevel } from "../../../../compiler/methods/accordion/simulated-level.ts";
import { accordionBundle } from "../../../support/accordion-bundle.ts";

/** Two models that take 4 × 30 ms and 4 × 5 ms in the mean: 8 places carry 114 queries a second. */
const BUNDLE = accordionBundle({ maxViolationRate: 0.05 });
const { levels: _, provenance: __, ...FRAME } = BUNDLE;

test("a level promises what a simulation of the bundle at its load gives", () => {
  const { expected } = simulatedLevel(FRAME, 60);
  const { seed, durationMs } = expected;
  const arrivals = { kind: "poisson", qps: 60 } as const;
  const outcome = simulateAccordion(BUNDLE, { arrivals, durationMs, seed });
  expect(expected).toEqual({
    violationRate: outcome.violationRate,
    droppedRate: outcome.dropped / outcome.queries,
    latencyMsP50: outcome.latencyMs?.p50,
    latencyMsP99: outcome.latencyMs?.p99,
    latencyMs: {
      p50: outcome.latencyMs?.p50,
      p99: outcome.latencyMs?.p99,
      max: outcome.latencyMs?.max,
    },
    queueMs: {
      p50: outcome.queueMs?.p50,
      p99: outcome.queueMs?.p99,
      max: outcome.queueMs?.max,
    },
    occupancy: outcome.occupancy,
    activeQueries: outcome.activeQueries.mean,
    reconfigurations: outcome.reconfigurations / outcome.queries,
    queries: outcome.queries,
    seed,
    durationMs,
  });
  expect(expected.queries).toBeGreaterThan(15_000);
});

test("is feasible while the places carry it and few enough queries are late", () => {
  const { feasible, capacityQps } = simulatedLevel(FRAME, 60);
  expect(feasible).toBe(true);
  expect(capacityQps).toBeCloseTo(8000 / 70, 6);
});

test("is not feasible above its capacity, or where too many queries are late", () => {
  expect(simulatedLevel(FRAME, 120).feasible).toBe(false);
  const strict = { ...FRAME, slo: { ...FRAME.slo, latencyMs: 31 } };
  const { feasible, capacityQps, expected } = simulatedLevel(strict, 100);
  expect(capacityQps).toBeGreaterThan(100);
  expect(expected.violationRate).toBeGreaterThan(0.05);
  expect(feasible).toBe(false);
});

test("is simulated with arrivals as bursty as the application says", () => {
  const bursty = { ...FRAME, arrivals: { process: "gamma", cv2: 8 } as const };
  const poisson = simulatedLevel(FRAME, 90).expected.violationRate;
  expect(simulatedLevel(bursty, 90).expected.violationRate).toBeGreaterThan(poisson);
});
