import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  LatencySample,
  latencyLine,
  longerFor,
  requestsPerBatch,
  withEnoughBatches,
} from "../../../compiler/simulate/latency-sample.ts";
import { Rng } from "../../../runtime/core/rng.ts";

describe("LatencySample", () => {
  it("summarises exactly: percentiles are nearest ranks", () => {
    fc.assert(
      fc.property(fc.array(fc.nat(1000), { minLength: 1, maxLength: 300 }), (latenciesMs) => {
        const sample = new LatencySample();
        for (const latencyMs of latenciesMs) sample.record(latencyMs);
        const sorted = [...latenciesMs].sort((a, b) => a - b);
        const atPercent = (percent: number) =>
          sorted.find(
            (ms) => sorted.filter((other) => other <= ms).length * 100 >= percent * sorted.length,
          );
        expect(sample.summary()).toEqual({
          mean: latenciesMs.reduce((sum, ms) => sum + ms, 0) / latenciesMs.length,
          p50: atPercent(50),
          p95: atPercent(95),
          p99: atPercent(99),
          max: sorted.at(-1),
        });
      }),
    );
  });

  it("has nothing to say about nothing", () => {
    expect(new LatencySample().summary()).toBeNull();
  });

  it("beyond its limit takes percentiles from every second, fourth … latency", () => {
    const sample = new LatencySample(8);
    for (let latencyMs = 0; latencyMs < 33; latencyMs++) sample.record(latencyMs);
    // Kept: 0, 8, 16, 24, 32.
    expect(sample.summary()).toEqual({ mean: 16, p50: 16, p95: 32, p99: 32, max: 32 });
  });

  it("grows over its first block", () => {
    const sample = new LatencySample();
    for (let latencyMs = 1; latencyMs <= 10_000; latencyMs++) sample.record(latencyMs);
    expect(sample.summary()).toEqual({
      mean: 5000.5,
      p50: 5000,
      p95: 9500,
      p99: 9900,
      max: 10_000,
    });
  });
});

/** Independent latencies up to 100 ms. */
function sampleOf(count: number): LatencySample {
  const sample = new LatencySample();
  const rng = new Rng(1, 0);
  for (let query = 0; query < count; query++) sample.record(100 * rng.nextFloat());
  return sample;
}

describe("percentiles of few batches", () => {
  it("have intervals that hold them", () => {
    const summary = sampleOf(900).summary(1);
    expect(summary?.batches).toBe(900);
    for (const name of ["p50", "p95", "p99"] as const) {
      const [lower = 0, upper = null] = summary?.intervals?.[name] ?? [];
      expect(lower).toBeLessThan(summary?.[name] ?? 0);
      expect(upper ?? Number.POSITIVE_INFINITY).toBeGreaterThan(summary?.[name] ?? 0);
    }
    expect(summary && latencyLine(summary)).toMatch(
      /^mean 5\S+, p50 \S+ \(4\S+\.\.5\S+\), p95 \S+ \(9\S+\.\.9\S+\), p99 9\S+ \(9\S+\), max /,
    );
  });

  it("have none with 1,000 batches, or if batches are unknown", () => {
    expect(sampleOf(2000).summary(2)).not.toHaveProperty("intervals");
    expect(sampleOf(1998).summary(2)).toHaveProperty("intervals");
    expect(sampleOf(10).summary()).not.toHaveProperty("intervals");
  });

  it("count the requests that share a batch, in the task where most do", () => {
    expect(requestsPerBatch(1000, [{ queries: 1000, batches: 250 }])).toBe(4);
    // A request with many queries has its batches for itself.
    expect(requestsPerBatch(40, [{ queries: 1000, batches: 130 }])).toBe(1);
    const cascade = [
      { queries: 1000, batches: 800 },
      { queries: 300, batches: 100 },
      { queries: 0, batches: 0 },
    ];
    expect(requestsPerBatch(1000, cascade)).toBe(3);
    expect(requestsPerBatch(0, [])).toBe(1);
  });

  it("make a simulation longer, once", () => {
    const simulated: number[] = [];
    const { latencyMs } = withEnoughBatches((longer) => {
      simulated.push(longer);
      return { latencyMs: sampleOf(Math.ceil(400 * longer)).summary(1) };
    });
    expect(simulated).toHaveLength(2);
    expect(latencyMs?.batches).toBeGreaterThanOrEqual(1000);
    expect(latencyMs).not.toHaveProperty("intervals");
    expect([longerFor(), longerFor(1000), longerFor(0)]).toEqual([1, 1, 20]);
  });
});
