import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Baseline } from "../../../../../compiler/methods/ramsis/simulate/baseline-names.ts";
import { simulateCluster } from "../../../../../compiler/methods/ramsis/simulate/cluster-simulation.ts";
import type {
  SimulationOptions,
  SimulationResult,
} from "../../../../../compiler/methods/ramsis/simulate/simulate.ts";
import type { ArrivalProcess } from "../../../../../compiler/simulate/arrivals.ts";
import type { RamsisBundle } from "../../../../../runtime/bundle/schema.ts";
import { Rng } from "../../../../../runtime/core/rng.ts";
import { dispatcherOf } from "../../../../../runtime/methods/ramsis/core/dispatcher-of.ts";
import { simulatedAs } from "../../../../support/beaten.ts";
import {
  LARGE,
  SMALL,
  type TinyBundleOptions,
  tinyBundle,
} from "../../../../support/tiny-bundle.ts";

function recorded(...arrivalMs: number[]): ArrivalProcess {
  return { kind: "trace", trace: { kind: "arrivals", arrivalMs: Float64Array.from(arrivalMs) } };
}

function run(
  bundle: RamsisBundle,
  options: Partial<SimulationOptions>,
  baseline: Baseline | null = null,
): SimulationResult {
  return simulatedAs(baseline, bundle, {
    arrivals: recorded(),
    durationMs: 10_000,
    seed: 1,
    serviceTimes: "p95",
    ...options,
  });
}

/**
 * By batch size b, the small variant takes 10 + 5b ms and the large one 20 + 20b ms; the SLO is 100
 * ms, four queries can wait.
 */
describe("simulate, by hand", () => {
  it("runs the more accurate variant while it fits, then the one that does", () => {
    // 0: large, 40 ms. At 40 three wait, slack 70 ms: large takes 80, small 25.
    const result = run(tinyBundle(), { arrivals: recorded(0, 10, 20, 30) });
    expect(result).toEqual({
      seed: 1,
      durationMs: 10_000,
      queries: 4,
      satisfied: 4,
      late: 0,
      dropped: 0,
      violationRate: 0,
      accuracyPerSatisfied: expect.closeTo((0.8 + 3 * 0.6) / 4, 12),
      accuracyPerQuery: expect.closeTo((0.8 + 3 * 0.6) / 4, 12),
      latencyMs: {
        ...{ mean: (40 + 55 + 45 + 35) / 4, p50: 40, p95: 55, p99: 55, max: 55 },
        ...{ batches: 2, intervals: expect.anything() },
      },
      queueMs: { mean: 15, p50: 10, p95: 30, p99: 30, max: 30 },
      byVariant: {
        small: {
          queries: 3,
          satisfied: 3,
          batches: 1,
          timelyBatches: 1,
          meanBatch: 3,
          accuracy: 0.6,
        },
        large: {
          queries: 1,
          satisfied: 1,
          batches: 1,
          timelyBatches: 1,
          meanBatch: 1,
          accuracy: 0.8,
        },
      },
      byLevel: { 1000: { decisions: 2 } },
    });
  });

  it("counts late and dropped queries as violations of accuracy 0", () => {
    // 0: alone, 40 ms. 1 to 4 wait and 5 is dropped. At 40 four wait: 100 ms, over at 140.
    const large = tinyBundle({
      variants: [LARGE],
      decide: ({ queued }) => ({ variant: 0, batch: queued }),
    });
    const result = run(large, { arrivals: recorded(0, 1, 2, 3, 4, 5) });
    expect(result).toMatchObject({
      queries: 6,
      satisfied: 1,
      late: 4,
      dropped: 1,
      violationRate: 5 / 6,
    });
    expect(result.accuracyPerSatisfied).toBeCloseTo(0.8, 12);
    expect(result.accuracyPerQuery).toBeCloseTo(0.8 / 6, 12);
    expect(result.latencyMs).toMatchObject({ max: 139 });
  });

  it("lets a query that arrives at the moment of a completion join the next batch", () => {
    const result = run(tinyBundle(), { arrivals: recorded(0, 10, 40) });
    expect(result).toMatchObject({ byVariant: { large: { batches: 2, queries: 3 } } });
  });

  it("counts a finish at the deadline itself as satisfied, whatever the clock rounds", () => {
    const exact = { name: "exact", accuracy: 1, latencyMs: () => 100 };
    const arrivals = recorded(...Array.from({ length: 90 }, (_, i) => 100.1 * (i + 1)));
    expect(run(tinyBundle({ variants: [exact] }), { arrivals })).toMatchObject({
      queries: 90,
      satisfied: 90,
    });
  });

  it("deals queries to the workers in turn", () => {
    // With one worker the second and third query would share a batch.
    const result = run(tinyBundle({ workers: 3 }), { arrivals: recorded(0, 1, 2) });
    expect(result).toMatchObject({ byVariant: { large: { batches: 3 } } });
  });

  it("stops arrivals at the end and serves those that wait", () => {
    const result = run(tinyBundle(), { arrivals: recorded(0, 10, 50), durationMs: 50 });
    expect(result).toMatchObject({ queries: 2, satisfied: 2, latencyMs: { max: 70 } });
  });

  it("reports nothing, not NaN, when no query arrives", () => {
    const result = run(tinyBundle(), {});
    expect(result).toMatchObject({
      queries: 0,
      violationRate: 0,
      accuracyPerSatisfied: null,
      accuracyPerQuery: null,
    });
    expect(result.latencyMs).toBeNull();
    expect(result).toMatchObject({ byVariant: { small: { batches: 0, meanBatch: null } } });
  });
});

describe("simulate with a fixed variant", () => {
  const alone = (variant: string): Baseline => ({ kind: "fixed", variant });

  it("runs that variant only, with the largest batch that meets the earliest deadline", () => {
    // At 40 four wait with 61 ms left: large takes 60 for two of them. At 100 two wait with 3 ms
    // left: none fits, so both go, until 160.
    const result = run(tinyBundle(), { arrivals: recorded(0, 1, 2, 3, 4) }, alone("large"));
    expect(result).toMatchObject({ byVariant: { small: { batches: 0 } } });
    expect(result).toMatchObject({ byVariant: { large: { batches: 3, queries: 5 } } });
    expect(result).toMatchObject({ satisfied: 3, late: 2, latencyMs: { max: 157 } });
  });

  it("sees the same arrivals as the policy", () => {
    const arrivals: ArrivalProcess = { kind: "poisson", qps: 100 };
    expect(run(tinyBundle(), { arrivals }, alone("small")).queries).toBe(
      run(tinyBundle(), { arrivals }).queries,
    );
  });

  it("names the variants there are when it is asked for another", () => {
    expect(() => run(tinyBundle(), {}, alone("huge"))).toThrow(/no variant "huge".*small, large/);
  });
});

describe("simulate, at random", () => {
  it("accounts for every query", () => {
    const cases = fc.record({
      workers: fc.integer({ min: 1, max: 5 }),
      qps: fc.integer({ min: 1, max: 600 }),
      cv2: fc.constantFrom(0.5, 1, 4),
      seed: fc.nat(),
      serviceTimes: fc.constantFrom("p95", "sampled"),
    });
    fc.assert(
      fc.property(cases, ({ workers, qps, cv2, seed, serviceTimes }) => {
        const bundle = tinyBundle({
          workers,
          loadsQps: [50, 200],
          quantileRatios: { p50: 0.7, p95: 1, p99: 1.2, mean: 0.72 },
        });
        const result = run(bundle, {
          arrivals: { kind: "gamma", qps, cv2 },
          durationMs: 2000,
          seed,
          serviceTimes,
        });
        const variants = Object.values(result.byVariant);
        const total = (key: "queries" | "satisfied" | "batches") =>
          variants.reduce((sum, variant) => sum + variant[key], 0);
        expect(result.satisfied + result.late + result.dropped).toBe(result.queries);
        expect(total("queries")).toBe(result.satisfied + result.late);
        expect(total("satisfied")).toBe(result.satisfied);
        const decisions = Object.values(result.byLevel).reduce(
          (sum, level) => sum + level.decisions,
          0,
        );
        expect(decisions).toBe(total("batches"));
      }),
      { numRuns: 50 },
    );
  });

  it("repeats itself for a seed and differs between seeds", () => {
    const bundle = tinyBundle({
      workers: 3,
      quantileRatios: { p50: 0.7, p95: 1, p99: 1.2, mean: 0.72 },
    });
    const options: Partial<SimulationOptions> = {
      arrivals: { kind: "poisson", qps: 90 },
      serviceTimes: "sampled",
    };
    expect(run(bundle, { ...options, seed: 9 })).toEqual(run(bundle, { ...options, seed: 9 }));
    expect(run(bundle, { ...options, seed: 9 })).not.toEqual(run(bundle, { ...options, seed: 10 }));
  });

  it("is unchanged, but for latencies and queue times, when all times are stretched", () => {
    const stretched = (factor: number) => {
      const stretch = ({ name, accuracy, latencyMs }: typeof SMALL) => ({
        name,
        accuracy,
        latencyMs: (batch: number) => factor * latencyMs(batch),
      });
      const options: TinyBundleOptions = {
        sloMs: 100 * factor,
        variants: [stretch(SMALL), stretch(LARGE)],
      };
      const arrivals: ArrivalProcess = { kind: "poisson", qps: 40 / factor };
      return run(tinyBundle(options), { arrivals, durationMs: 20_000 * factor });
    };
    // A power of two, so that no rounding differs.
    const { latencyMs, queueMs, durationMs, ...outcome } = stretched(1);
    expect(stretched(4)).toMatchObject({ ...outcome, durationMs: 4 * durationMs });
    expect(stretched(4).latencyMs?.p99).toBe(4 * (latencyMs?.p99 ?? Number.NaN));
    expect(stretched(4).queueMs?.p99).toBe(4 * (queueMs?.p99 ?? Number.NaN));
  });

  it("agrees with the mean wait of an M/D/1 queue", () => {
    const serviceMs = 10;
    const utilisation = 0.7;
    const bundle = tinyBundle({
      maxQueue: 500,
      variants: [{ name: "only", accuracy: 1, latencyMs: () => serviceMs }],
      decide: () => ({ variant: 0, batch: 1 }),
    });
    const waitsMs = Array.from({ length: 20 }, (_, seed) => {
      const arrivals: ArrivalProcess = { kind: "poisson", qps: (1000 * utilisation) / serviceMs };
      const { latencyMs, dropped } = run(bundle, { arrivals, durationMs: 200_000, seed });
      expect(dropped).toBe(0);
      return (latencyMs?.mean ?? Number.NaN) - serviceMs;
    });
    const mean = waitsMs.reduce((sum, waitMs) => sum + waitMs, 0) / waitsMs.length;
    const variance =
      waitsMs.reduce((sum, waitMs) => sum + (waitMs - mean) ** 2, 0) / (waitsMs.length - 1);
    // Pollaczek–Khinchine with constant service.
    const theory = (utilisation * serviceMs) / (2 * (1 - utilisation));
    expect(Math.abs(mean - theory)).toBeLessThan(4 * Math.sqrt(variance / waitsMs.length));
  });
});

describe("simulateCluster", () => {
  it("counts the queries that arrive in a window, and serves the others all the same", () => {
    const bundle = tinyBundle({ workers: 2 });
    const run = (counted?: { fromMs: number; untilMs: number }) =>
      simulateCluster(bundle, dispatcherOf(bundle), {
        arrivals: { kind: "poisson", qps: 300 },
        durationMs: 30_000,
        serviceTimes: "p95",
        arrivalRng: new Rng(3, 1),
        serviceRng: new Rng(3, 2),
        ...(counted === undefined ? {} : { counted }),
      });
    const parts = [0, 10_000, 20_000].map((fromMs) => run({ fromMs, untilMs: fromMs + 10_000 }));
    const whole = run();
    const sum = (of: (outcome: typeof whole) => number) =>
      parts.reduce((total, part) => total + of(part), 0);
    for (const key of ["queries", "satisfied", "late", "dropped"] as const) {
      expect(sum((outcome) => outcome[key])).toBe(whole[key]);
    }
    expect(sum(({ byVariant }) => byVariant["small"]?.batches ?? 0)).toBe(
      whole.byVariant["small"]?.batches,
    );
    expect(whole.late + whole.dropped).toBeGreaterThan(0);
  });
});
