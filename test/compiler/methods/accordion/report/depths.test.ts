import fc from "fast-check";
import { expect, test } from "vitest";
import {
  fewestPlaces,
  largestBatch,
  leastLatencies,
} from "../../../../../compiler/methods/accordion/report/depths.ts";
import { planSchedules } from "../../../../../compiler/methods/accordion/report/simulated-schedulers.ts";
import type { AccordionBundle, MalleableVariant } from "../../../../../runtime/bundle/schema.ts";
import { accordionBundle } from "../../../../support/accordion-bundle.ts";

function modelOf(bundle: AccordionBundle): MalleableVariant {
  const [model] = bundle.tasks[0]?.variants ?? [];
  if (model === undefined) throw new RangeError("no model");
  return model;
}

/** Batch by batch, shape by shape. */
function slowFewest(bundle: AccordionBundle, batch: number): number | null {
  const model = modelOf(bundle);
  const { maxBatch } = bundle.policy;
  let fewest: number | null = null;
  for (const [shape, pipeline] of model.pipelines.entries()) {
    const ms = model.latencyMs.data[shape * maxBatch + batch - 1] ?? Number.NaN;
    if (pipeline === null || ms > bundle.slo.latencyMs) continue;
    fewest = Math.min(fewest ?? Number.POSITIVE_INFINITY, pipeline.pools.length);
  }
  return fewest;
}

const bundles = fc
  .record({
    layerMs: fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 5 }),
    sloMs: fc.integer({ min: 1, max: 120 }),
    speed: fc.constantFrom(1, 2),
    timing: fc.constantFrom("pipelined" as const, "paper" as const),
  })
  .map(({ layerMs, speed, ...rest }) =>
    accordionBundle({
      models: [{ name: "one", layerMs }],
      pools: [{ workers: 2 }, { workers: 2, speed }],
      ...rest,
    }),
  );

test("the ranges hold every batch that can meet the SLO once, with the fewest places", () => {
  fc.assert(
    fc.property(bundles, (bundle) => {
      const ranges = fewestPlaces(bundle, modelOf(bundle));
      for (let batch = 1; batch <= bundle.policy.maxBatch; batch++) {
        const holding = ranges.filter(({ from, to }) => from <= batch && batch <= to);
        const expected = slowFewest(bundle, batch);
        expect(holding.map(({ places }) => places)).toEqual(expected === null ? [] : [expected]);
        expect(batch <= largestBatch(ranges)).toBe(expected !== null);
      }
    }),
    { numRuns: 60 },
  );
});

test("looking for the least latencies leaves the bundle's table as it is", () => {
  const bundle = accordionBundle({ pools: [{ workers: 2 }, { workers: 2, speed: 2 }] });
  const before = Float64Array.from(modelOf(bundle).latencyMs.data);
  leastLatencies(bundle, modelOf(bundle));
  expect(modelOf(bundle).latencyMs.data).toEqual(before);
});

test("all schedulers are compared for as long, and long levels for a part of their time", () => {
  const levels = Array.from({ length: 40 }, (_, index) => ({
    loadQps: 10 * (index + 1),
    expected: { durationMs: 60_000, seed: 7 },
  }));
  const plan = planSchedules(accordionBundle({ levels, policy: { scheduler: "bbs" } }));
  const loads = [...new Set(plan.map(({ level }) => level.loadQps))];
  expect(loads).toHaveLength(12);
  expect([loads[0], loads.at(-1)]).toEqual([10, 400]);
  expect(plan.slice(0, 5).map(({ scheduler }) => scheduler)).toEqual([
    "bbs",
    "accordion",
    "slo-conforming",
    "fastest",
    "one-stage",
  ]);
  expect(new Set(plan.map(({ durationMs }) => durationMs)).size).toBe(1);
  const queries = plan.reduce(
    (sum, { level, durationMs }) => sum + (level.loadQps * durationMs) / 1000,
    0,
  );
  expect(queries).toBeGreaterThan(199_000);
  expect(queries).toBeLessThan(201_000);
});
