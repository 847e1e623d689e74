import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { simulate } from "../../../../../compiler/methods/ramsis/simulate/simulate.ts";
import { decodeBundle } from "../../../../../runtime/bundles/checked-bundle.ts";
import { ramsisBundle } from "../../../../support/ramsis-bundle.ts";

/** Sixty workers, 150 ms: the example whose bundle is in the repository. */
const example = ramsisBundle(
  decodeBundle(readFileSync("policies/image-classification/bundle.msgpack")),
);

test.each(example.levels.map((level) => level.loadQps))(
  "at %d queries/s the simulation attains what the bundle expects",
  (loadQps) => {
    const level = example.levels.find((candidate) => candidate.loadQps === loadQps);
    // One level alone: its table is on trial, not the choice among levels.
    const bundle = { ...example, levels: level === undefined ? [] : [level] };
    const result = simulate(bundle, {
      arrivals: { kind: "poisson", qps: loadQps },
      durationMs: 120_000,
      seed: 1,
      serviceTimes: "p95",
    });
    const expected = level?.expected ?? {
      accuracyPerSatisfied: Number.NaN,
      violationRate: Number.NaN,
    };
    const accuracyError = Math.abs(
      (result.accuracyPerSatisfied ?? Number.NaN) - expected.accuracyPerSatisfied,
    );
    expect(accuracyError).toBeLessThan(0.002);
    // Lateness comes in batches and in spells; thirty queries at a time is a generous reading of
    // that.
    const standardError = Math.sqrt((expected.violationRate * 30) / result.queries);
    expect(result.violationRate).toBeLessThanOrEqual(expected.violationRate + 3 * standardError);
  },
);

test("across all levels the load choice keeps what the levels expect", () => {
  const result = simulate(example, {
    arrivals: { kind: "poisson", qps: 2000 },
    durationMs: 60_000,
    seed: 2,
    serviceTimes: "p95",
  });
  const expected = example.levels.find((level) => level.loadQps === 2000)?.expected;
  const accuracyError = Math.abs(
    (result.accuracyPerSatisfied ?? Number.NaN) - (expected?.accuracyPerSatisfied ?? Number.NaN),
  );
  expect(accuracyError).toBeLessThan(0.002);
  expect(result.violationRate).toBeLessThan(0.001);
});
