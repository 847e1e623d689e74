/** Which limits a level misses, and how they are told. */
import { expect, test } from "vitest";
import {
  feasibleText,
  missedByRates,
  missedLatencies,
} from "../../../runtime/describe/missed-limits.ts";
import { inferlineMissed } from "../../../runtime/methods/inferline/describe/missed.ts";
import { themisMissed } from "../../../runtime/methods/themis/describe/missed.ts";
import { inferlineBundle } from "../../support/inferline-bundle.ts";
import { themisBundle } from "../../support/themis-bundle.ts";

const within = { loadQps: 100, capacityQps: 200 };

test("a level within its limits misses none", () => {
  const missed = missedByRates(within, [{ violationRate: 0.05 }], 0.05);
  expect(missed).toEqual([]);
  expect(feasibleText(true, missed)).toBe("yes");
});

test("reports load and violations with their limits, those of a class with its name", () => {
  const rates = [
    { violationRate: 0.01, sloClass: "fast" },
    { violationRate: 0.072, sloClass: "slow" },
  ];
  const missed = missedByRates({ loadQps: 600, capacityQps: 480 }, rates, 0.05);
  expect(missed).toEqual([
    { limit: "load", found: 600, allowed: 480 },
    { limit: "violations", found: 0.072, allowed: 0.05, sloClass: "slow" },
  ]);
  expect(feasibleText(false, missed)).toBe(
    "no: load 600 > 480 qps; violations of class slow 7.200% > 5.000%",
  );
});

test("reports missed latency limits with the value found", () => {
  const slo = { p50Ms: 20, p95Ms: 50 };
  expect(missedLatencies(slo, { p50: 20, p95: 50, p99: 90, max: 99 })).toEqual([]);
  expect(missedLatencies({}, undefined)).toEqual([]);
  const missed = missedLatencies(slo, { p50: 23.45, p95: 50, p99: 90, max: 99 });
  expect(feasibleText(false, missed)).toBe("no: p50 23.45 > 20 ms");
  expect(missedLatencies(slo, undefined).map(({ limit }) => limit)).toEqual(["p50", "p95"]);
});

test("a plan that misses the ceiling in its simulation is one, but not without saying so", () => {
  const missed = missedByRates(within, [{ violationRate: 0.02 }], 0.01);
  expect(feasibleText(true, missed)).toBe("yes, but violations 2.000% > 1.000%");
});

test("reports the workers that the load needs if there are fewer", () => {
  const sketch = {
    tasks: [{ name: "only", latencyMs: { 1: 10 } }],
    workers: [2],
    levels: [{ loadQps: 350, stages: [[1, 2]] as const }],
  };
  const bundle = inferlineBundle(sketch);
  const [planned] = bundle.levels;
  if (planned === undefined) throw new Error("a level");
  const level = { ...planned, feasible: false, capacityQps: 150 };
  expect(inferlineMissed(bundle, level)).toEqual([
    { limit: "load", found: 350, allowed: 150 },
    { limit: "workers", found: 4, allowed: 2 },
  ]);
  expect(inferlineMissed(bundle, planned)).toEqual([]);
});

test("reports the cores that the load needs if there are fewer", () => {
  const bundle = themisBundle({
    tasks: [{ name: "only", latencyMs: [[10]] }],
    policy: { maxBatch: 1, maxCores: 1 },
    workers: 2,
    cores: 1,
    levels: [{ loadQps: 350, capacityQps: 150, steady: [[1, 1, 2]] }],
  });
  const [level] = bundle.levels;
  if (level === undefined) throw new Error("a level");
  expect(themisMissed(bundle, level)).toEqual([
    { limit: "load", found: 350, allowed: 150 },
    { limit: "cores", found: 4, allowed: 2 },
  ]);
});
