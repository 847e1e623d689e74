import { describe, expect, test } from "vitest";
import { simulateInferline } from "../../../../../compiler/methods/inferline/simulate/simulate.ts";
import { inferlineBundle } from "../../../../support/inferline-bundle.ts";
import { ToldTuner } from "../../../../support/inferline-driver.ts";
import { at, OPTIONS } from "../../../../support/inferline-latencies.ts";

/** The tuner is told targets when a request comes. @param nth request, from 1. */
function tellAt(tuner: ToldTuner, nth: number, ...targets: number[]): ToldTuner {
  const onArrival = tuner.onArrival.bind(tuner);
  let requests = 0;
  tuner.onArrival = () => {
    if (++requests === nth) tuner.tell(...targets);
    return onArrival();
  };
  return tuner;
}

describe("replicas", () => {
  const ONE = inferlineBundle({
    tasks: [{ name: "a", latencyMs: { 1: 1000 } }],
    levels: [{ loadQps: 100, stages: [[1, 1]] }],
    prices: [3],
    policy: { activationMs: 5000 },
  });

  test("that are added serve once they have come up, and cost from the start", () => {
    const tuner = tellAt(new ToldTuner(ONE), 1, 3);
    const arrivals = at([0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    const result = simulateInferline(ONE, { ...OPTIONS, arrivals, tuner, durationMs: 10_000 });
    // One a second, from the sixth on three at a time.
    expect([...(result.latencyMsByRequest ?? [])]).toEqual(
      [1, 2, 3, 4, 5, 6, 6, 6, 7, 7].map((s) => 1000 * s),
    );
    expect(result).toMatchObject({ costPerHour: 9, servers: { mean: 3, max: 3 } });
    expect(result.scaling).toEqual({ up: 2, down: 0 });
  });

  test("that go lose no request, and cost until they are gone", () => {
    const bundle = inferlineBundle({
      tasks: [{ name: "a", latencyMs: { 1: 1000 } }],
      levels: [{ loadQps: 100, stages: [[1, 3]] }],
      prices: [3],
    });
    const tuner = tellAt(new ToldTuner(bundle), 5, 1);
    const arrivals = at([0, 0, 0, 0, 500]);
    const result = simulateInferline(bundle, {
      ...OPTIONS,
      arrivals,
      tuner,
      durationMs: 2000,
      timeline: true,
    });
    expect([...(result.latencyMsByRequest ?? [])]).toEqual([1000, 1000, 1000, 2000, 2500]);
    // Two leave at 1000.
    expect(result).toMatchObject({ costPerHour: 6, servers: { mean: 2, max: 3 } });
    expect(result.scaling).toEqual({ up: 0, down: 2 });
    expect(result.timeline?.map(({ costPerHour }) => costPerHour)).toEqual([9, 3]);
  });

  test("that go before they have come up take no time from those that come after them", () => {
    const tuner = new ToldTuner(ONE);
    tellAt(tellAt(tellAt(tuner, 1, 2), 2, 1), 3, 2);
    const arrivals = at([0, 2000, 4000, 4000, 4000, 4000, 4000, 4000, 4000]);
    const result = simulateInferline(ONE, { ...OPTIONS, arrivals, tuner, durationMs: 9000 });
    // The second replica comes up at 9000, not at 5000.
    expect([...(result.latencyMsByRequest ?? [])]).toEqual([
      1000, 1000, 1000, 2000, 3000, 4000, 5000, 6000, 6000,
    ]);
    expect(result.scaling).toEqual({ up: 2, down: 1 });
    // One all the time, the other from 0 to 2000 and from 4000 on.
    expect(result.servers).toEqual({ mean: 16 / 9, max: 2 });
  });

  test("of a bundle's own tuner follow a burst and go again", () => {
    const bundle = inferlineBundle({
      tasks: [{ name: "a", latencyMs: { 1: 10 } }],
      levels: [
        {
          loadQps: 50,
          stages: [[1, 1]],
          envelope: [
            [1000, 60],
            [60_000, 3200],
          ],
        },
      ],
      policy: { tuner: "relative" },
    });
    const trace = {
      kind: "rates",
      startMs: Float64Array.of(0, 60_000, 120_000),
      qps: Float64Array.of(50, 200, 50),
      endMs: 300_000,
    } as const;
    const run = (tuner: "relative" | "none") =>
      simulateInferline(
        { ...bundle, policy: { ...bundle.policy, tuner } },
        { ...OPTIONS, arrivals: { kind: "trace", trace }, durationMs: 300_000, timeline: true },
      );
    const tuned = run("relative");
    const fixed = run("none");
    expect(tuned.satisfied + tuned.late).toBe(tuned.queries);
    expect(tuned.violationRate).toBeLessThan(fixed.violationRate / 2);
    expect(tuned.timeline?.[90]?.servers).toBeGreaterThan(2);
    expect(tuned.timeline?.[299]?.servers).toBeLessThan(3);
    expect(tuned.scaling.down).toBeGreaterThan(0);
    expect(fixed.servers).toEqual({ mean: 1, max: 1 });
  });
});

test("another level takes over when the traffic has grown for good", () => {
  const bundle = inferlineBundle({
    tasks: [
      {
        name: "a",
        latencyMs: [
          { 1: 10, 2: 15 },
          { 1: 5, 4: 10 },
        ],
      },
    ],
    levels: [
      { loadQps: 50, stages: [[1, 1, 0]], peakQps: 60 },
      { loadQps: 200, stages: [[4, 2, 1]], peakQps: 230 },
    ],
    workers: [4, 4],
    prices: [1, 4],
  });
  const trace = {
    kind: "rates",
    startMs: Float64Array.of(0, 60_000),
    qps: Float64Array.of(40, 150),
    endMs: 240_000,
  } as const;
  const options = {
    ...OPTIONS,
    arrivals: { kind: "trace", trace },
    durationMs: 240_000,
    timeline: true,
  } as const;
  const result = simulateInferline(bundle, options);
  expect(result.planSwitches).toBe(1);
  expect(result.timeline?.[59]).toMatchObject({ level: 0, servers: 1, costPerHour: 1 });
  expect(result.timeline?.[239]).toMatchObject({ level: 1, servers: 2, costPerHour: 8 });
  const stays = simulateInferline(bundle, { ...options, level: 0 });
  expect(stays).toMatchObject({ planSwitches: 0, costPerHour: 1 });
});
