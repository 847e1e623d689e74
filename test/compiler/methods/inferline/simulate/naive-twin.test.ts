import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { tossVisits } from "../../../../../compiler/simulate/graph/visits.ts";
import { taskGraphOf } from "../../../../../runtime/core/graph/task-graph.ts";
import { inferlineBundle } from "../../../../support/inferline-bundle.ts";
import { latencies } from "../../../../support/inferline-latencies.ts";
import { naiveLatencies } from "../../../../support/naive-inferline.ts";

describe("the obvious twin", () => {
  const coin = fc.constantFrom(0.3, 0.5, 1);
  /** Latencies from few numbers, so that there are ties. */
  const profile = fc
    .tuple(fc.constantFrom(1, 2, 3), fc.constantFrom(0, 1, 2), fc.constantFrom(0, 2))
    .map(([one, more, most]) => ({ 1: one, 2: one + more, 4: one + more + most }));
  const parentsOf = (index: number): fc.Arbitrary<readonly number[]> =>
    index === 0
      ? fc.constant([-1])
      : fc.oneof(
          fc.constant([-1]),
          fc.subarray([...new Array<undefined>(index).keys()], { minLength: 1 }),
        );
  const task = (index: number) =>
    fc.record({
      from: parentsOf(index),
      shares: fc.array(coin, { minLength: index + 1, maxLength: index + 1 }),
      isExclusive: fc.boolean(),
      profile,
      stage: fc.tuple(fc.constantFrom(1, 2, 3, 4), fc.integer({ min: 1, max: 3 })),
    });
  const pipeline = fc
    .integer({ min: 1, max: 5 })
    .chain((count) => fc.tuple(...Array.from({ length: count }, (_, index) => task(index))))
    .chain((tasks) =>
      fc.record({
        tasks: fc.constant(tasks),
        hopMs: fc.constantFrom(0, 0, 1, 0.1),
        gapsMs: fc.array(fc.constantFrom(0, 0, 0.5, 1, 2, 1 / 3), { minLength: 1, maxLength: 40 }),
        seed: fc.nat(1000),
      }),
    );

  test("has the same latency for every request, to the last bit, ties included", () => {
    fc.assert(
      fc.property(pipeline, ({ tasks, hopMs, gapsMs, seed }) => {
        const bundle = inferlineBundle({
          tasks: tasks.map(({ from, shares, isExclusive, profile: latencyMs }, index) => ({
            name: `t${index}`,
            // Shares of exclusive branches may add up to more than 1 here; the first ones are taken
            // then.
            from: Object.fromEntries(
              from.map((parent) => [
                parent < 0 ? "requests" : `t${parent}`,
                shares[parent + 1] ?? 1,
              ]),
            ),
            branch: isExclusive ? "exclusive" : "independent",
            latencyMs,
          })),
          levels: [{ loadQps: 1, stages: tasks.map(({ stage }) => stage) }],
          workers: [16],
          communicationLatencyMs: hopMs,
        });
        let nowMs = 0;
        const arrivalMs = Float64Array.from(gapsMs, (gapMs) => {
          nowMs += gapMs;
          return nowMs;
        });
        const takenByEdge = tossVisits(taskGraphOf(bundle), arrivalMs.length, seed);
        const trace = { arrivalMs, takenByEdge };
        expect(latencies(bundle, { kind: "requests", trace }, { level: 0 })).toEqual(
          naiveLatencies(bundle, 0, trace),
        );
      }),
      { numRuns: 400 },
    );
  });
});
