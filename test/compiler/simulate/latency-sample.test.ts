import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { LatencySample } from "../../../compiler/simulate/latency-sample.ts";

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
