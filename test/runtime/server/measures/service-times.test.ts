import { expect, test } from "vitest";
import type { ServiceTimes } from "../../../../runtime/bundle/schema.ts";
import { WorkerModels } from "../../../../runtime/server/graph/worker-models.ts";
import { p99MsOf } from "../../../../runtime/server/measures/service-times.ts";

function table(...ms: number[]): ServiceTimes["decisionMs"] {
  return { dtype: "float64", shape: [2, ms.length / 2], data: Float64Array.from(ms) };
}

test("a batch takes its p99 where the profile has it, else what decisions are made with", () => {
  const decisionMs = table(1, 2, 3, 10, 20, 30);
  const other = table(0, 0, 0, 0, 0, 0);
  const p99Ms = table(2, 3, 4, 11, 21, 28);
  const quantiles = { p50Ms: other, p95Ms: other, meanMs: other, p99Ms };
  const bare = { percentile: null, decisionMs, quantiles: null };
  const measured = { ...bare, quantiles };
  expect([1, 3].map((rows) => p99MsOf(bare, 1, rows))).toEqual([10, 30]);
  // Decisions may rest on more than was measured.
  expect([1, 3].map((rows) => p99MsOf(measured, 1, rows))).toEqual([11, 30]);
  expect(p99MsOf(measured, 0, 3)).toBe(4);
  expect([p99MsOf(measured, 1, 4), p99MsOf(undefined, 0, 1)]).toEqual([undefined, undefined]);
});

test("a worker that is resized may run the next batch on the fewer of both core counts", () => {
  const models = new WorkerModels(1, 1, []);
  expect(models.leastCores(0)).toBe(1);
  models.assign(0, 0, 4);
  expect(models.leastCores(0)).toBe(4);
  models.resize(0, 2);
  models.resize(0, 8);
  expect(models.leastCores(0)).toBe(2);
  models.resized(0);
  expect(models.leastCores(0)).toBe(8);
});
