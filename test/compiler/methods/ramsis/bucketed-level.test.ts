/** Levels of tables where requests are padded to buckets: what is solved, promised and refused. */
import type { RamsisBundle } from "stratagem-runtime/internal/bundle/schema";
import { expect, test } from "vitest";
import { bucketedLevel } from "../../../../compiler/methods/ramsis/divided-level.ts";
import { promised } from "../../../../compiler/methods/ramsis/promise.ts";
import { simulateBaseline } from "../../../../compiler/methods/ramsis/simulate/baselines/simulate-baseline.ts";
import { simulate } from "../../../../compiler/methods/ramsis/simulate/simulate.ts";
import { levelProblem } from "../../../../compiler/methods/ramsis/solve/level-problem.ts";
import { ramsis } from "../../../../compiler/methods/ramsis/solve/ramsis.ts";
import { bucketWarnings } from "../../../../compiler/methods/ramsis/warnings.ts";
import { bucketMistakes } from "../../../../compiler/model/buckets.ts";
import { readRamsisBundle } from "../../../../runtime/methods/ramsis/bundle/fields.ts";
import { bucketApplication, bucketFrame } from "../../../support/bucket-frame.ts";

const SIZES = [1, 4];
const OPTIONS = { sizes: SIZES, shares: [0.7, 0.3] };
/** More than two workers carry if every row is as large as the largest. */
const LOAD_QPS = 500;
const FRAME = bucketFrame(OPTIONS);
const LEVEL = bucketedLevel(levelProblem(FRAME), LOAD_QPS);
const BUNDLE: RamsisBundle = {
  ...FRAME,
  levels: [LEVEL],
  provenance: { compiler: "test", inputs: [] },
};

test("a level has a table for each bucket, and makes a bundle", () => {
  expect(FRAME.buckets?.map(({ name, share }) => [name, share])).toEqual([
    ["1", 0.7],
    ["4", 0.3],
  ]);
  expect(LEVEL.bucketTables).toHaveLength(2);
  expect(readRamsisBundle(BUNDLE)).toEqual(BUNDLE);
});

test("it is feasible where padding all to the largest size is not, and near the bound", () => {
  const padded = ramsis.solveLevel(bucketFrame({ sizes: [] }), LOAD_QPS);
  expect([padded.feasible, LEVEL.feasible]).toEqual([false, true]);
  const { accuracyPerQuery, upperBoundAccuracy, byBucket = [] } = LEVEL.expected;
  expect(accuracyPerQuery).toBeLessThanOrEqual(upperBoundAccuracy);
  expect(accuracyPerQuery).toBeGreaterThan(upperBoundAccuracy - 0.02);
  for (const { violationRate } of byBucket) expect(violationRate).toBeLessThan(0.02);
});

test("what it promises comes of its tables alone, and other simulated arrivals agree", () => {
  expect(promised(levelProblem(FRAME), LEVEL)).toEqual(LEVEL.expected);
  const result = simulate(BUNDLE, {
    arrivals: { kind: "poisson", qps: LOAD_QPS },
    durationMs: 40_000,
    seed: 77,
    serviceTimes: "p95",
  });
  const { accuracyPerQuery, violationRate } = LEVEL.expected;
  expect(result.accuracyPerQuery).toBeCloseTo(accuracyPerQuery, 1.7);
  expect(result.violationRate).toBeLessThanOrEqual(violationRate + 0.005);
  const shares = Object.values(result.byBucket ?? {}).map((one) => one.queries / result.queries);
  expect(shares[0]).toBeCloseTo(0.7, 1);
});

test("a baseline pads everything to the largest bucket", () => {
  const result = simulateBaseline(
    BUNDLE,
    { kind: "greedy" },
    {
      arrivals: { kind: "poisson", qps: LOAD_QPS },
      durationMs: 5000,
      seed: 1,
      serviceTimes: "p95",
    },
  );
  expect(result.byBucket).toBeUndefined();
  expect(result.violationRate).toBeGreaterThan(0.1);
});

test("one size is no bucket: the same frame as of rows that are all as large", () => {
  const plain = bucketFrame({ sizes: [] });
  expect(bucketFrame({ sizes: [4] })).toEqual(plain);
});

test("assumes equal shares if none are stated, and warns of it", () => {
  const stated = bucketApplication(OPTIONS);
  const open = bucketApplication({ sizes: SIZES });
  const frame = bucketFrame({ sizes: SIZES });
  expect(frame.buckets?.map(({ share }) => share)).toEqual([0.5, 0.5]);
  expect(bucketWarnings(frame, stated)).toEqual([]);
  expect(bucketWarnings(frame, open)).toEqual([
    "no bucketShares: the buckets 1, 4 are assumed to have equal shares of the load",
  ]);
});

test.each([
  [{ sizes: SIZES, balancer: "round-robin" }, 'expected "pooled", since requests are of the'],
  [{ sizes: SIZES, shares: [0.5, 0.3, 0.2] }, "expected 2 shares, one for each of 1, 4, got 3"],
  [{ sizes: [], shares: [0.5, 0.5] }, "expected nothing, since no variant was measured in buckets"],
] as const)("%j is refused", (options, message) => {
  const application = bucketApplication(options);
  const ofTasks = application.tasks.flatMap((task) => [...bucketMistakes(task, [])]);
  const mistakes = [...ofTasks, ...ramsis.mistakes(application)].map((one) =>
    "message" in one ? one.message : "",
  );
  expect(mistakes.join("\n")).toContain(message);
});
