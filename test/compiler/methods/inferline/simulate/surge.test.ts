/** Base, three times base, base: what issue is taken with, as the simulation has it. */
import { describe, expect, test } from "vitest";
import { simulateInferline } from "../../../../../compiler/methods/inferline/simulate/simulate.ts";
import { envelopeOf, peakRate } from "../../../../../compiler/numeric/traffic-envelope.ts";
import { drawArrivals } from "../../../../../compiler/simulate/graph/drawn-requests.ts";
import type { InferlineBundle } from "../../../../../runtime/bundle/schema.ts";
import { inferlineBundle } from "../../../../support/inferline-bundle.ts";

const WINDOWS = Float64Array.of(50, 100, 200, 400, 800, 1600, 3200, 6400, 12_800, 25_600, 60_000);
const PHASE_S = 600;

/** One task whose replicas carry 40 a second in batches of two; the plans are given. */
function bundleOf(
  levels: readonly (readonly [qps: number, replicas: number])[],
  tuner: "joint" | "relative",
) {
  return inferlineBundle({
    workers: [64],
    prices: [0.2],
    policy: { tuner },
    tasks: [{ name: "a", latencyMs: { 1: 35, 2: 50 } }],
    levels: levels.map(([qps, replicas]) => {
      const sample = drawArrivals({ kind: "poisson", qps }, 120_000, 1);
      const requests = envelopeOf(sample, WINDOWS);
      return {
        loadQps: qps,
        stages: [[2, replicas]],
        envelope: Array.from(WINDOWS, (ms, at) => [ms, requests[at] ?? 1] as const),
        peakQps: peakRate(sample, 5000, 120_000),
      };
    }),
  });
}

function surge(bundle: InferlineBundle, seed: number) {
  return simulateInferline(bundle, {
    arrivals: {
      kind: "trace",
      trace: {
        kind: "rates",
        startMs: Float64Array.of(0, 1000 * PHASE_S, 2000 * PHASE_S),
        qps: Float64Array.of(60, 180, 60),
        endMs: 3000 * PHASE_S,
      },
    },
    durationMs: 3000 * PHASE_S,
    seed,
    serviceTimes: "p95",
    timeline: true,
  });
}

const TWO = [
  [60, 3],
  [198, 8],
] as const;

function costAt(run: ReturnType<typeof surge>, fromS: number, toS: number): number {
  const seconds = (run.timeline ?? []).slice(fromS, toS);
  return seconds.reduce((sum, { costPerHour }) => sum + costPerHour, 0) / seconds.length;
}

describe.each([
  ["two levels", TWO],
  ["one level", TWO.slice(0, 1)],
] as const)("%s", (_, levels) => {
  test.each([11, 12, 13])("cost four fifths of the peak's plan at most, seed %i", (seed) => {
    const run = surge(bundleOf(levels, "joint"), seed);
    expect(run.costPerHour).toBeLessThan(0.8 * 1.6);
    expect(run.violationRate).toBeLessThan(0.01);
    expect(costAt(run, 2 * PHASE_S + 60, 3 * PHASE_S)).toBeLessThan(1.1 * 0.6);
  });
});

test("the tuner of the envelope alone pays for the peak long after it", () => {
  const run = surge(bundleOf(TWO, "relative"), 11);
  expect(costAt(run, 2 * PHASE_S + 60, 2 * PHASE_S + 120)).toBeGreaterThan(1.1 * 0.6);
});
