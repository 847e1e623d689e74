/** RAMSIS over workers of other machines: the way to them is part of what batches take. */
import { expect, test } from "vitest";
import { simulate } from "../../../../compiler/methods/ramsis/simulate/simulate.ts";
import type { RamsisBundle } from "../../../../runtime/bundle/schema.ts";
import { ramsisBundle } from "../../../support/ramsis-bundle.ts";
import { servedBundle } from "../../../support/served-application.ts";

const HOP_MS = 5;

const near = await planned("0 ms");
const far = await planned(`${HOP_MS} ms`);

async function planned(hops: string, slo?: string): Promise<RamsisBundle> {
  const machine = { serving: null, hops, ...(slo === undefined ? {} : { slo }) };
  return ramsisBundle(await servedBundle("ramsis", machine));
}

test("every time is longer by the hop, and no batch is begun that the hop makes late", () => {
  const timesOf = ({ tasks: [task] }: RamsisBundle) => task?.serviceTimes;
  const [here, there] = [timesOf(near), timesOf(far)];
  for (const table of ["p50Ms", "p95Ms", "p99Ms", "meanMs"] as const) {
    const later = [...(here?.quantiles?.[table].data ?? [])].map((ms) => ms + HOP_MS);
    expect(later.length).toBeGreaterThan(0);
    for (const [index, ms] of later.entries()) {
      expect(there?.quantiles?.[table].data[index]).toBeCloseTo(ms, 9);
    }
  }
  expect(far.cluster.communicationLatencyMs).toBe(HOP_MS);
  for (const [index, { expected }] of far.levels.entries()) {
    const { accuracyPerQuery } = near.levels[index]?.expected ?? { accuracyPerQuery: 0 };
    expect(expected.accuracyPerQuery).toBeLessThanOrEqual(accuracyPerQuery);
  }
});

test("what the plan says of far workers is what their simulation gives", () => {
  for (const { loadQps, expected } of far.levels) {
    const result = simulate(far, {
      arrivals: { kind: "poisson", qps: loadQps },
      durationMs: 400_000,
      seed: 3,
      serviceTimes: "sampled",
    });
    expect(Math.abs(result.violationRate - expected.violationRate)).toBeLessThan(0.001);
    const accuracy = result.accuracyPerQuery ?? 0;
    expect(Math.abs(accuracy - expected.accuracyPerQuery)).toBeLessThan(0.002);
    // Most have the large model for themselves: 10 ms, and the hop.
    expect(result.latencyMs?.p50).toBeGreaterThan(9.9 + HOP_MS);
  }
});

test("a plan that forgets the hop promises what far workers do not keep", () => {
  const forgetful = { ...far, levels: near.levels, decisionSpace: near.decisionSpace };
  const level = near.levels.at(-1);
  const options = {
    arrivals: { kind: "poisson", qps: level?.loadQps ?? 0 },
    durationMs: 100_000,
    seed: 3,
    serviceTimes: "p95",
  } as const;
  const [known, forgotten] = [simulate(far, options), simulate(forgetful, options)];
  expect(forgotten.violationRate).toBeGreaterThan(known.violationRate);
});

test("with a hop of all of the SLO no level is promised to be in time", async () => {
  const { levels } = await planned("40 ms", "40 ms");
  for (const { expected } of levels) expect(expected.violationRate).toBeCloseTo(1, 9);
});
