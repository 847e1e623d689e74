/** Tables for slower machines, which are searched briefly, are hardly worse than any others. */
import { expect, test } from "vitest";
import { ramsis } from "../../../../compiler/methods/ramsis/solve/ramsis.ts";
import { pacedTimes } from "../../../../compiler/model/paced-times.ts";
import { loadApplication } from "../../../../compiler/spec/load-application.ts";
import { ofMethod } from "../../../support/of-method.ts";
import { writeSpec } from "../../../support/spec-file.ts";

/** Variants whose service times spread. */
const VARIANTS = [
  { name: "v0", accuracy: 0.669, ms: 3.04, fixed: 0.6, spread: 1.59 },
  { name: "v1", accuracy: 0.805, ms: 7.42, fixed: 0.33, spread: 1.52 },
  { name: "v2", accuracy: 0.882, ms: 13.8, fixed: 0.4, spread: 1.34 },
  { name: "v3", accuracy: 0.923, ms: 22.6, fixed: 0.51, spread: 1.23 },
];

function frame() {
  const variants = Object.fromEntries(
    VARIANTS.map(({ name, accuracy, ms, fixed, spread }) => {
      const rows = [1, 2, 4, 8].map((batch) => {
        const p50 = ms * (fixed + (1 - fixed) * batch);
        return [batch, { p50, p95: p50 * spread, p99: 1.2 * p50 * spread, mean: p50 }];
      });
      return [name, { accuracy, latencyMs: Object.fromEntries(rows) }];
    }),
  );
  const spec = {
    version: 1,
    application: "spread",
    slo: { latency: "70 ms" },
    workload: { arrivals: { process: "poisson" }, loads: [266] },
    cluster: { workers: 3 },
    tasks: [
      { name: "t", variants: VARIANTS.map(({ name }) => ({ name, profile: `p.json#${name}` })) },
    ],
    policy: { method: "ramsis" },
  };
  const profile = { format: "latency-profile/1", hardware: "test", variants };
  const { application } = loadApplication(writeSpec(spec, { "p.json": profile }));
  return ramsis.frame(ofMethod("ramsis", application), new Map());
}

test.each([1.25, 2])("three workers at pace %f", (pace) => {
  const profiled = frame();
  const slowed = { ...profiled, tasks: pacedTimes(profiled.tasks, pace) };
  const full = ramsis.solveLevel(slowed, 266);
  const brief = ramsis.slowedTable(slowed, 266, 1, "brief");
  const { expected } = ramsis.withTableOf(slowed, 266, { ...full, mixture: null, ...brief });
  expect(expected.violationRate).toBeLessThan(0.01);
  expect(expected.accuracyPerQuery).toBeGreaterThan(full.expected.accuracyPerQuery - 0.003);
});
