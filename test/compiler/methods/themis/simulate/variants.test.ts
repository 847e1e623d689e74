import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import {
  simulateThemis,
  type ThemisSimulationOptions,
  type ThemisSimulationResult,
} from "../../../../../compiler/methods/themis/simulate/simulate.ts";
import type { Trace } from "../../../../../compiler/spec/trace.ts";
import { planAccuracy } from "../../../../../runtime/methods/themis/core/plan-accuracy.ts";
import {
  choiceBundle,
  type VariantSketch,
  withSecondVariants,
} from "../../../../support/themis-choices.ts";
import { jumpingRates, randomThemisBundle } from "../../../../support/themis-random-bundle.ts";

/** Times that fall with the cores nearly in proportion. */
function table(aloneMs: number, mostCores: number): number[][] {
  return Array.from({ length: mostCores }, (_, core) =>
    [1, 2, 3, 4].map((batch) => (aloneMs * (0.3 + 0.7 * batch)) / (1 + 0.8 * core)),
  );
}

function variant(name: string, accuracy: number, aloneMs: number, pool = 0): VariantSketch {
  return { name, accuracy, pool, latencyMs: table(aloneMs, 4) };
}

const FIND = [variant("large", 0.98, 20), variant("small", 0.9, 4)];
const NAME = [variant("name", 0.95, 2)];
const POLICY = { maxBatch: 4, maxCores: 4, tickMs: 100, stableTicks: 20, coldStartMs: 2000 };
const ROOMY = [{ workers: 4, cores: 4, pricePerHour: null }];
const LOADS = [20, 60, 120, 240, 480, 900];
const BUNDLE = choiceBundle(
  { tasks: [FIND, NAME], pools: ROOMY, sloMs: 120, policy: POLICY },
  LOADS,
);

/** Half a minute at each rate. */
function dayOf(rates: readonly number[]): ThemisSimulationOptions {
  const qps = rates.flatMap((rate) => new Array<number>(30).fill(rate));
  const trace: Trace = {
    kind: "rates",
    startMs: Float64Array.from(qps, (_, second) => 1000 * second),
    qps: Float64Array.from(qps),
    endMs: 1000 * qps.length,
  };
  return { arrivals: { kind: "trace", trace }, durationMs: trace.endMs, seed: 3, timeline: true };
}

/** The variant of the first task, level by level. */
function finders(bundle: typeof BUNDLE): (string | undefined)[] {
  return bundle.levels.map(({ steady }) => {
    return bundle.tasks[0]?.variants[steady.stages[0]?.variant ?? 0]?.name;
  });
}

describe("plans with several variants of a task", () => {
  it("have the accurate one as long as the pool carries it, then the other", () => {
    const names = finders(BUNDLE);
    expect(names[0]).toBe("large");
    expect(names.at(-1)).toBe("small");
    expect(names.lastIndexOf("large")).toBe(names.indexOf("small") - 1);
  });

  it("are simulated to what they promise, accuracy included", () => {
    for (const [level, { loadQps, steady }] of BUNDLE.levels.entries()) {
      const arrivals = { kind: "poisson", qps: loadQps } as const;
      const ran = simulateThemis(BUNDLE, { arrivals, durationMs: 60_000, seed: 7, level });
      const accuracy = planAccuracy(BUNDLE.tasks, steady.stages);
      expect(ran.accuracyPerSatisfied, `${loadQps} qps`).toBeCloseTo(accuracy, 9);
      expect(ran.violationRate, `${loadQps} qps`).toBeLessThan(0.015);
      expect(ran.cores.max, `${loadQps} qps`).toBe(steady.cores);
    }
  });

  it("follow traffic up and down, and carry it once instances are up", () => {
    const ran = simulateThemis(BUNDLE, dayOf([20, 60, 200, 400, 600, 400, 120, 20]));
    expect(ran.byVariant["task-0/large"]?.queries).toBeGreaterThan(10_000);
    expect(ran.byVariant["task-0/small"]?.queries).toBeGreaterThan(10_000);
    expect(settledViolations(ran)).toBe(0);
    expect(ran.accuracyPerSatisfied).toBeGreaterThan(0.9 * 0.95);
    expect(ran.accuracyPerSatisfied).toBeLessThan(0.98 * 0.95);
    expect(ran.cores.max).toBeLessThanOrEqual(16);
  });

  it("give way where the pool has no room for both", () => {
    const tight = [{ workers: 1, cores: 6, pricePerHour: null }];
    const bundle = choiceBundle(
      { tasks: [FIND, NAME], pools: tight, sloMs: 120, policy: POLICY },
      [20, 60, 120, 240, 480, 900],
    );
    expect(finders(bundle)).toEqual(["large", "large", "large", "large", "small", "small"]);
    expect(bundle.levels[3]?.steady.cores).toBe(6);
    const ran = simulateThemis(bundle, dayOf([200, 200, 450, 800, 200]));
    expect(ran.byVariant["task-0/small"]?.queries).toBeGreaterThan(10_000);
    expect(settledViolations(ran)).toBe(0);
    // What still runs a batch leaves after it, while what comes has its cores.
    expect(ran.cores.max).toBeLessThanOrEqual(8);
  });

  it("give way at once where the load is known to be more than they carry", () => {
    const tight = [{ workers: 1, cores: 6, pricePerHour: null }];
    const bundle = choiceBundle(
      { tasks: [FIND, NAME], pools: tight, sloMs: 120, policy: POLICY },
      [240, 900],
    );
    const ran = simulateThemis(bundle, dayOf([200, 800, 800]));
    const late = (ran.timeline ?? []).filter(({ violations }) => violations > 0).length;
    // A look, then a start of two seconds, then what has come to wait.
    expect(late).toBeLessThanOrEqual(5);
  });
});

describe("whatever gives way", () => {
  test("requests end once each, and the same seed fares the same", () => {
    const bundles = fc.tuple(randomThemisBundle(), fc.nat(1000));
    let changes = 0;
    fc.assert(
      fc.property(bundles, jumpingRates, ([plain, seed], arrivals) => {
        const bundle = withSecondVariants(plain, seed);
        const startLevel = seed % bundle.levels.length;
        const options = { arrivals, durationMs: arrivals.trace.endMs, seed, startLevel };
        const ran = simulateThemis(bundle, options);
        expect(ran.satisfied + ran.late + ran.dropped).toBe(ran.queries);
        expect(simulateThemis(bundle, options)).toEqual(ran);
        changes += ran.scaling.settled;
      }),
      { numRuns: 60 },
    );
    expect(changes).toBeGreaterThan(20);
  });
});

/** Requests missed later than ten seconds after the traffic has changed. */
function settledViolations({ timeline }: ThemisSimulationResult): number {
  const settled = (timeline ?? []).filter((_, second) => second % 30 >= 10);
  return settled.reduce((sum, { violations }) => sum + violations, 0);
}
