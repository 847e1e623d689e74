/** A server that is much slower than most has no place while the others carry the demand. */
import { expect, test } from "vitest";
import { simulateLoki } from "../../../../../compiler/methods/loki/simulate/simulate.ts";
import { SettledOutcomes } from "../../../../../compiler/methods/settled-outcomes.ts";
import { AS_PROFILED } from "../../../../../compiler/simulate/serving/machine-state.ts";
import { loadBundle } from "../../../../../runtime/bundles/load-bundle.ts";

/** Share of the requests after the first five seconds that are late or dropped. */
async function settled(qps: number, workerPaces: ReadonlyMap<number, number>) {
  const { bundle } = await loadBundle("policies/scenes/bundle.msgpack");
  if (bundle.method !== "loki") return expect.fail("scenes has plans");
  const outcomes = new SettledOutcomes(bundle.slo.latencyMs, 5000);
  const outcome = simulateLoki(bundle, {
    arrivals: { kind: "poisson", qps },
    durationMs: 40_000,
    seed: 1,
    serviceTimes: "p95",
    fanout: "rounded",
    stations: { machine: { ...AS_PROFILED, workerPaces } },
    onOutcome: outcomes.count,
  });
  return { ...outcomes.figures(1, outcome), modelLoads: outcome.modelLoads };
}

test.each([0, 1, 2])("one of three servers at pace 3, whatever it is for: %i", async (worker) => {
  const { violationRate } = await settled(480, new Map([[worker, 3]]));
  expect(violationRate).toBeLessThan(0.01);
});

test.each([0, 1, 2])("a spare server takes the place of a slow one: %i", async (worker) => {
  const { violationRate } = await settled(40, new Map([[worker, 5]]));
  expect(violationRate).toBeLessThan(0.001);
});

test("a slow server that holds nobody up keeps its place", async () => {
  const { violationRate, modelLoads } = await settled(720, new Map([[1, 2]]));
  expect(violationRate).toBeLessThan(0.001);
  expect(modelLoads).toBeLessThan(3);
});
