import { describe, expect, it } from "vitest";
import { inferline } from "../../../../../compiler/methods/inferline/solve/inferline.ts";
import { simulatedMs } from "../../../../../compiler/methods/inferline/solve/sample-length.ts";
import { loadApplication } from "../../../../../compiler/spec/load-application.ts";
import { ofMethod } from "../../../../support/of-method.ts";
import { writeSpec } from "../../../../support/spec-file.ts";

/**
 * Times of batches by size, ms: on processors, and on something faster. Sums of them that are the
 * same would be ties, which rounding breaks.
 */
const TIMES = {
  cpu: { small: { 1: 20.37, 2: 31.19, 4: 55.83 }, large: { 1: 40.71, 2: 70.53, 4: 130.9 } },
  gpu: { small: { 1: 7.171, 2: 8.397, 4: 11.73 }, large: { 1: 11.29, 2: 13.57, 4: 18.41 } },
};

const taskOf = (name: string, variant: "small" | "large", to: object[] = [], fanout?: number) => ({
  name,
  variants: (["cpu", "gpu"] as const).map((hardware) => ({
    name: `${variant}-${hardware}`,
    profile: `${hardware}.json#${variant}`,
    ...(fanout === undefined ? {} : { fanout }),
  })),
  to,
});

const PROBLEMS = {
  chain: {
    tasks: [taskOf("a", "small", [{ task: "b", share: 0.4 }]), taskOf("b", "large")],
    policy: {},
    loads: [3, 30],
  },
  diamond: {
    tasks: [
      taskOf("a", "small", [{ task: "b" }, { task: "c", share: 0.7 }]),
      taskOf("b", "large", [{ task: "d" }]),
      taskOf("c", "small", [{ task: "d" }]),
      taskOf("d", "small"),
    ],
    policy: { traces: 2, sampleDuration: 20_000 },
    loads: [90],
  },
  rows: {
    tasks: [taskOf("a", "small", [{ task: "b" }], 2.6), taskOf("b", "small")],
    policy: { margin: "auto", sampleDuration: 10_000 },
    loads: [40],
  },
};

/** The same application where all times are so many times as long, and loads as many as low. */
function provisioned(name: keyof typeof PROBLEMS, factor: number) {
  const { tasks, policy, loads } = PROBLEMS[name];
  const profiles = Object.entries(TIMES).map(([hardware, rows]) => {
    const variants = Object.entries(rows).map(([variant, latencyMs]) => {
      const times = Object.entries(latencyMs).map(([batch, ms]) => [batch, ms * factor]);
      return [variant, { accuracy: 0.9, latencyMs: Object.fromEntries(times) }];
    });
    const content = { format: "latency-profile/1", hardware, percentile: 95 };
    return [`${hardware}.json`, { ...content, variants: Object.fromEntries(variants) }];
  });
  const { sampleDuration, ...others } = { sampleDuration: null, ...policy };
  const spec = {
    version: 1,
    application: name,
    slo: { latency: `${250 * factor} ms` },
    workload: { arrivals: { process: "poisson" }, loads: loads.map((qps) => qps / factor) },
    cluster: {
      communicationLatency: `${factor} ms`,
      pools: [
        { name: "cpu", hardware: "cpu", workers: 12, pricePerHour: 0.1 },
        { name: "gpu", hardware: "gpu", workers: 6, pricePerHour: 0.7 },
      ],
    },
    tasks,
    policy: {
      method: "inferline",
      activation: `${1000 * factor} ms`,
      ...(sampleDuration === null ? {} : { sampleDuration: `${sampleDuration * factor} ms` }),
      ...others,
    },
  };
  const { application } = loadApplication(writeSpec(spec, Object.fromEntries(profiles)));
  const own = ofMethod("inferline", application);
  expect([...inferline.mistakes(own)]).toEqual([]);
  const frame = inferline.frame(own, new Map());
  return loads.map((qps) => inferline.provisionLevel(frame, qps / factor));
}

/** A level with times and rates as they were before the factor. */
function withoutFactor(level: ReturnType<typeof inferline.provisionLevel>, factor: number) {
  const { sample, plan, heldOut, solve } = level;
  return {
    rates: [level.loadQps, level.capacityQps, sample.meanQps, sample.peakQps].map((qps) =>
      Number((qps * factor).toPrecision(9)),
    ),
    times: [sample.durationMs, sample.estimate.p99Ms, ...sample.envelope.windowMs.data].map((ms) =>
      Number((ms / factor).toPrecision(6)),
    ),
    counts: [sample.requests, ...sample.envelope.requests.data],
    plan: plan.stages.map(({ variant, pool, batch, replicas }) => [variant, pool, batch, replicas]),
    margin: sample.margin,
    missRate: sample.estimate.missRate,
    cost: plan.costPerHour,
    heldOut,
    solve,
  };
}

describe("provisioning does not depend on the unit of time", () => {
  for (const name of ["chain", "diamond", "rows"] as const) {
    const base = provisioned(name, 1).map((level) => withoutFactor(level, 1));
    for (const factor of [1e-3, 7.3, 1e3]) {
      it(`${name}: times ${factor} times as long`, () => {
        const found = provisioned(name, factor).map((level) => withoutFactor(level, factor));
        expect(found).toEqual(base);
      });
    }
  }

  it("and a level is simulated for requests, at any load and SLO", () => {
    const requests = (sloMs: number, qps: number, sampleMs = 1) =>
      Math.round((qps * simulatedMs(sloMs, sampleMs, qps)) / 1000);
    expect(requests(100, 100)).toBe(50_000);
    expect(requests(100, 2000)).toBe(120_000);
    expect(requests(0.1, 2e6)).toBe(120_000);
    expect(requests(100, 20_000)).toBe(1_000_000);
    // A rare load takes as long as its sample, or as a percentile of it needs.
    expect(requests(100, 0.01)).toBe(10_000);
    expect(requests(100, 0.01, 3e9)).toBe(30_000);
  });
});
