import { expect, test } from "vitest";
import type { Sample } from "../../../../runtime/base/exposition.ts";
import type { ServiceTimes } from "../../../../runtime/bundle/schema.ts";
import { quantileKnots } from "../../../../runtime/core/quantile-distribution.ts";
import { WorkerModels } from "../../../../runtime/server/graph/worker-models.ts";
import {
  ServiceTimes as Measured,
  type ProfiledCells,
  p99MsOf,
} from "../../../../runtime/server/measures/service-times.ts";

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

const CELLS: ProfiledCells = {
  sloMs: 100,
  variants: [
    { task: "find", variant: "small", stage: "0-2" },
    { task: "find", variant: "small", stage: "2-5" },
    { task: "find", variant: "large", stage: "0-5" },
  ],
  kindLabels: (kind) => ({ pool: `p${kind}` }),
  profiled: (variant, rows) => {
    const ms = (1 + variant) * rows;
    if (rows > 4) return undefined;
    const point = { p50Ms: ms, decisionMs: 2 * ms };
    return variant === 2 ? point : { ...point, knots: quantileKnots(ms, 2 * ms, 3 * ms, ms) };
  },
  contention: [1, 2],
};

/** Samples of a family by their name and labels. */
function valuesOf(times: Measured): ReadonlyMap<string, number> {
  const samples = times.lines().filter((one): one is Sample => one.kind === "sample");
  return new Map(
    samples.map(({ name, labels, value }) => [`${name} ${Object.values(labels).join(" ")}`, value]),
  );
}

function ran(times: Measured, batches: readonly (readonly [variant: number, rows: number])[]) {
  for (const [index, [variant, rows]] of batches.entries()) {
    const insideMs = 1.1 * (1 + variant) * rows;
    const busyWorkers = 1 + (index % 3);
    const around = { aroundMs: insideMs + 0.1, insideMs, endMs: 1000, busyWorkers };
    times.onBatch({ variant, rows, kind: index % 2, ...around });
  }
}

const BATCHES = [
  ...[[0, 1] as const, [1, 2] as const, [2, 4] as const, [0, 3] as const, [2, 9] as const],
  ...[[1, 1] as const, [0, 2] as const],
];

test("batches of all sizes, stages and pools of a variant are in one histogram", () => {
  const times = new Measured(CELLS, () => 1000);
  ran(times, BATCHES);
  const values = valuesOf(times);
  expect(values.get("stratagem_service_time_seconds_count find small")).toBe(5);
  expect(values.get("stratagem_service_time_seconds_count find large")).toBe(2);
  // A batch of 9 was not profiled, so nothing is predicted of it.
  const expected = (what: string, of: string) =>
    values.get(`stratagem_expected_seconds_${what} find ${of} service_time`);
  expect([expected("count", "small"), expected("count", "large")]).toEqual([5, 1]);
  // One number in the profile: 24 ms, of three workers as of the two that were measured: 48 ms.
  expect(expected("sum", "large")).toBeCloseTo(0.048, 9);
  const at = (le: string) =>
    values.get(`stratagem_expected_seconds_bucket find large service_time ${le}`);
  expect([at("0.0397"), at("0.05")]).toEqual([0, 1]);
  // Scraping is no event: what was added stays, and is added once.
  expect(valuesOf(times)).toEqual(values);
});

test("two servers added are one that ran the batches of both", () => {
  const [one, other, both] = [0, 1, 2].map(() => new Measured(CELLS, () => 1000));
  if (one === undefined || other === undefined || both === undefined) throw new Error("three");
  ran(one, BATCHES);
  ran(other, [...BATCHES, ...BATCHES].slice(3));
  ran(both, BATCHES);
  ran(both, [...BATCHES, ...BATCHES].slice(3));
  const [first, second] = [valuesOf(one), valuesOf(other)];
  const merged = valuesOf(both);
  expect([...merged.keys()]).toEqual([...first.keys()]);
  for (const [key, value] of merged) {
    expect((first.get(key) ?? 0) + (second.get(key) ?? 0)).toBeCloseTo(value, 2);
  }
});

test("a bundle that takes over predicts the batches after it, not those before", () => {
  const times = new Measured(CELLS, () => 1000);
  ran(times, [[2, 1]]);
  times.follow({ ...CELLS, profiled: () => ({ p50Ms: 50, decisionMs: 50 }) });
  ran(times, [[2, 1]]);
  const sum = valuesOf(times).get("stratagem_expected_seconds_sum find large service_time");
  expect(sum).toBeCloseTo(0.006 + 0.05, 9);
});
