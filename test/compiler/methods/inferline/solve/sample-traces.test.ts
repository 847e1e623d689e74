import { describe, expect, it } from "vitest";
import { SampleTraces } from "../../../../../compiler/methods/inferline/solve/sample-traces.ts";
import type { InferlineFrame } from "../../../../../compiler/model/frames.ts";
import type { ArrivalModel } from "../../../../../runtime/bundle/schema.ts";
import { inferlineBundle } from "../../../../support/inferline-bundle.ts";

function frameWith(
  arrivals: ArrivalModel,
  recorded: InferlineFrame["recorded"],
  traces = 1,
): InferlineFrame {
  const {
    levels: _,
    provenance: __,
    ...frame
  } = inferlineBundle({
    tasks: [
      { name: "a", latencyMs: { 1: 5 } },
      { name: "b", from: { a: 0.5 }, latencyMs: { 1: 5 } },
    ],
    levels: [
      {
        loadQps: 100,
        stages: [
          [1, 1],
          [1, 1],
        ],
      },
    ],
    policy: { sampleDurationMs: 10_000, traces },
  });
  return { ...frame, arrivals, recorded };
}

const POISSON: ArrivalModel = { process: "poisson" };
const TRACE: ArrivalModel = { process: "trace", file: "t.csv", dispersion: 1 };

describe("sample traces", () => {
  it("are the same every time, and differ between what is planned and what is judged with", () => {
    const traces = new SampleTraces(frameWith(POISSON, null), 100);
    const [first] = traces.samples(1);
    expect(new SampleTraces(frameWith(POISSON, null), 100).samples(1)).toEqual([first]);
    const others = [...traces.calibration(3), ...traces.heldOut(3, 3)];
    const starts = [first, ...others].map((trace) => trace?.arrivalMs[0]);
    expect(new Set(starts).size).toBe(7);
    expect(first?.arrivalMs.length).toBeGreaterThan(900);
    expect(first?.takenByEdge[0]).toBeNull();
    expect(first?.takenByEdge[1]).toHaveLength(first?.arrivalMs.length ?? 0);
  });

  it("are parts of recorded arrivals, one after the other, at the speed of the load", () => {
    // 50 a second for 100 s; twice as fast, 100 a second for 50 s: five parts.
    const arrivalMs = Float64Array.from({ length: 5001 }, (_, index) => 20 * index);
    const frame = frameWith(TRACE, { kind: "arrivals", arrivalMs }, 2);
    const traces = new SampleTraces(frame, 100);
    const samples = traces.samples(2);
    expect(samples.map((trace) => trace.arrivalMs.length)).toEqual([1000, 1000]);
    expect(Array.from(samples[1]?.arrivalMs.subarray(0, 3) ?? [])).toEqual([0, 10, 20]);
    // The last arrival is the only one of the sixth part.
    expect([...traces.heldOut(10, 0)].map((trace) => trace.arrivalMs.length)).toEqual([
      1000, 1000, 1000, 1,
    ]);
  });

  it("follow recorded rates, scaled to the load", () => {
    const startMs = Float64Array.from([0, 5000]);
    const qps = Float64Array.from([30, 10]);
    const frame = frameWith(TRACE, { kind: "rates", startMs, qps, endMs: 10_000 });
    const [trace] = new SampleTraces(frame, 200).samples(1);
    const arrivals = [...(trace?.arrivalMs ?? [])];
    const early = arrivals.filter((ms) => ms < 5000).length;
    expect(early).toBeGreaterThan(1350);
    expect(early).toBeLessThan(1650);
    expect(arrivals.length - early).toBeGreaterThan(400);
    expect(arrivals.length - early).toBeLessThan(600);
  });

  it("are as long as their least number of requests takes, where the load is low", () => {
    const { policy, ...frame } = frameWith(POISSON, null);
    const fitted = { ...frame, policy: { ...policy, sampleRequests: 1000 } };
    const rare = new SampleTraces(fitted, 0.2);
    expect(rare.lengthMs).toBe(5_000_000);
    const [trace] = rare.samples(1);
    expect(trace?.arrivalMs.length).toBeGreaterThan(900);
    expect(trace?.arrivalMs.length).toBeLessThan(1100);
    // Where its own length has as many, it has that.
    expect(new SampleTraces(fitted, 100).lengthMs).toBe(10_000);
    expect(new SampleTraces(fitted, 1e-6).lengthMs).toBe(1e12);
  });

  it("end at fifty thousand requests unless more are asked for, and one is drawn at a time", () => {
    const { policy, ...frame } = frameWith(POISSON, null);
    expect(new SampleTraces({ ...frame, policy }, 20_000).lengthMs).toBe(2500);
    const asked = { ...frame, policy: { ...policy, sampleRequests: 60_000 } };
    expect(new SampleTraces(asked, 20_000).lengthMs).toBe(3000);
    const traces = new SampleTraces({ ...frame, policy }, 1e9);
    for (const { arrivalMs } of traces.heldOut(2, 0)) {
      expect(Math.abs(arrivalMs.length - 50_000)).toBeLessThan(1000);
    }
  });

  it("leave parts of a recorded trace for a margin and a judgement, however low the load", () => {
    const arrivalMs = Float64Array.from({ length: 1501 }, (_, index) => 20 * index);
    const { policy, ...frame } = frameWith(TRACE, { kind: "arrivals", arrivalMs });
    const fitted = { ...frame, policy: { ...policy, sampleRequests: 1000 } };
    // 1500 gaps at 0.2 a second are 7500 s, of which a third is for each use.
    const traces = new SampleTraces(fitted, 0.2);
    expect(traces.lengthMs).toBe(2_500_000);
    expect(traces.samples(1)[0]?.arrivalMs.length).toBe(500);
    expect([...traces.heldOut(1, 1)][0]?.arrivalMs.length).toBe(500);
  });
});
